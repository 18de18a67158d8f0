# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels of the window: each shows the session and emits what the user wants, nothing else."""
