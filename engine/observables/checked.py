# SPDX-License-Identifier: GPL-3.0-or-later
"""What arrays must be before anything is computed of them."""

import math

import numpy as np


class ObservableError(ValueError):
    """Arrays or numbers of which an observable cannot be computed, in plain words."""


def numbers(name: str, values: np.ndarray) -> np.ndarray:
    """`values` as float64. Raises `ObservableError` where one is no finite number."""
    array = np.asarray(values, np.float64)
    bad = np.flatnonzero(~np.isfinite(array).all(axis=tuple(range(1, array.ndim))))
    if len(bad):
        raise ObservableError(
            f"{name} of rod {bad[0]} is {array[bad[0]]}, no finite number; so it is with "
            f"{len(bad)} of {len(array)} rods. Leave those out."
        )
    return array


def places(pos: np.ndarray, space_size: float) -> np.ndarray:
    """`pos` as float64 in [0, L)². Raises `ObservableError` as `numbers` and `above_zero` do."""
    side = above_zero("space_size", space_size)
    inside = numbers("pos", pos) % side
    # A remainder of a small negative number is L itself.
    inside[inside >= side] = 0.0
    return inside


def above_zero(name: str, value: float) -> float:
    """`value` as a float. Raises `ObservableError` where it is not above 0, or not finite."""
    number = float(value)
    if not 0 < number < math.inf:
        raise ObservableError(f"{name} = {number:g} is not possible: give a number above 0.")
    return number


def reach(name: str, value: float, space_size: float) -> float:
    """A distance up to which pairs are looked at, at most half the box.

    Raises `ObservableError` for others: beyond it a rod would meet two images of another.
    """
    number = above_zero(name, value)
    if number > space_size / 2:
        raise ObservableError(
            f"{name} = {number:g} is more than half of space_size = {space_size:g}. Give at most "
            f"{space_size / 2:g}."
        )
    return number


def same_number(**arrays: np.ndarray) -> int:
    """The number of rods in all of `arrays`. Raises `ObservableError` where they differ."""
    found = {name: len(array) for name, array in arrays.items()}
    if len(set(found.values())) > 1:
        told = ", ".join(f"{n} in {name}" for name, n in found.items())
        raise ObservableError(f"The arrays hold different numbers of rods: {told}.")
    return next(iter(found.values()))
