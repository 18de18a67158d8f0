# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that outlive a run: trajectories, series of observables, checkpoints."""
