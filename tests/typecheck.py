# SPDX-License-Identifier: GPL-3.0-or-later
"""The checker that tests/conftest.py hooks into every function of the engine."""

from beartype import BeartypeConf, beartype

# An int is taken where a float is annotated, as type checkers do.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
