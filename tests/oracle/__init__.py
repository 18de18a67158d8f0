# SPDX-License-Identifier: GPL-3.0-or-later
"""Slow float64 references, written from the equations alone; nothing here imports the engine."""
