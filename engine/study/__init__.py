# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmarks and, later, validation, sweeps and analysis."""
