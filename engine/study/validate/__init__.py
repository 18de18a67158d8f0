# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the physics against closed forms, the literature, and the engine itself.

`table` declares them once; `bacsim validate` and `pytest --validate` run the same ones. They drive
the engine from outside, by `engine.driver`, as any user does. JAX is imported when one runs.
"""
