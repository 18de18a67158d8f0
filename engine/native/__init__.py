# SPDX-License-Identifier: GPL-3.0-or-later
"""The neighbour lists as native code for CPUs: its C++ sources, and what loads it.

`engine.kernels.native` calls it from the compiled program. Without it everything works, more
slowly.
"""
