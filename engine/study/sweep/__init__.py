# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps: many systems over a grid of parameters, several of them in one compiled program.

`spec` reads what is asked for, `plan` makes systems and jobs of it, `job` runs one of them with
`batch`, `parts` keeps what is done, `result` makes one file of all. No part of it knows how jobs
come to be run at the same time.
"""
