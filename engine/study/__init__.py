# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmarks, validation of the physics, profiler traces."""
