# SPDX-License-Identifier: GPL-3.0-or-later
"""Measurements beside what a user would pick instead; see `benchmarks.peers`."""
