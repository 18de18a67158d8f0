# SPDX-License-Identifier: GPL-3.0-or-later
"""The standard error of a mean of values that follow each other in time, by blocking.

H. Flyvbjerg, H. G. Petersen, J. Chem. Phys. 91, 461 (1989). Neighbouring values are averaged two by
two, again and again; the error that independent blocks would have rises until blocks are longer
than what the values remember, and stays there: the plateau.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64

# Of fewer blocks the error is itself uncertain by more than a quarter.
FEWEST_BLOCKS = 8


@dataclass(frozen=True)
class Average:
    """A mean with its standard error.

    Attributes:
        mean: the mean; NaN of no value.
        error: its standard error; where `trusted` is false, a lower bound; NaN of less than
            2 values.
        values: how many there were.
        block: how many values a block has where the plateau begins; where there is none, in the
            longest blocks that were looked at.
        trusted: whether there is a plateau.
        needed: of how many values, as far apart as these, the plateau would be seen: about so many
            at least where `trusted` is false.
        drift: the mean of the second half less that of the first, in standard errors of that
            difference, which is twice `error`.
    """

    mean: float
    error: float
    values: int
    block: int
    trusted: bool
    needed: int
    drift: float

    @property
    def blocks(self) -> int:
        """How many blocks there were."""
        return self.values // self.block if self.block else 0


def errors_by_block(
    values: Float[np.ndarray, "values"],
) -> tuple[list[int], Float64[np.ndarray, "levels"]]:
    """Lengths of blocks, 1, 2, 4, …, and the standard error of the mean that each gives.

    √(Σ(x' − x̄')²/(n'(n' − 1))) of the n' block means x', equation (18) of the paper. A value that
    is left over at a level is left out of it.
    """
    blocks, lengths, errors = np.asarray(values, np.float64), [], []
    length = 1
    while len(blocks) >= 2:
        away = blocks - blocks.mean()
        errors.append(math.sqrt(float(away @ away) / (len(blocks) * (len(blocks) - 1))))
        lengths.append(length)
        even = len(blocks) // 2 * 2
        blocks = (blocks[0:even:2] + blocks[1:even:2]) / 2
        length *= 2
    return lengths, np.array(errors)


def average(values: Float[np.ndarray, "values"]) -> Average:
    """The mean of `values`, in order of time, and its error from the plateau of blocking.

    The plateau begins with the shortest blocks of B values for which B³ > 2n (σ_B/σ_1)⁴, n the
    number of values and σ_B the error from blocks of B: there what is left of the correlation and
    the scatter of σ_B are equal (U. Wolff, Comput. Phys. Commun. 156, 143 (2004); R. M. Lee et al.,
    Phys. Rev. E 83, 066706 (2011)). The error is the largest of blocks up to there. Values that are
    NaN are left out.
    """
    known = np.asarray(values, np.float64)
    known = known[np.isfinite(known)]
    n = len(known)
    if n < 2:
        mean = float(known.mean()) if n else math.nan
        return Average(mean, math.nan, n, n, False, _needed(1.0), math.nan)
    mean = float(known.mean())
    lengths, errors = errors_by_block(known)
    # Rounding in the mean of equal values is no scatter.
    if errors[0] <= 1e-14 * abs(mean):
        return Average(mean, 0.0, n, 1, True, n, 0.0)
    enough = [k for k, length in enumerate(lengths) if n // length >= FEWEST_BLOCKS]
    for k in enough:
        if lengths[k] ** 3 > 2 * n * (errors[k] / errors[0]) ** 4:
            # The rule likes blocks whose error is small by chance, so none shorter may have more.
            error = float(errors[: k + 1].max())
            return Average(mean, error, n, lengths[k], True, n, _drift(known, error))
    looked = enough or [0]
    most = max(looked, key=lambda k: errors[k])
    error = float(errors[most])
    needed = max(n + 1, _needed(error / float(errors[0])))
    return Average(mean, error, n, lengths[looked[-1]], False, needed, _drift(known, error))


def _needed(ratio: float) -> int:
    """Of how many values the plateau σ_B/σ_1 = `ratio` is seen: from B³ > 2n ratio⁴ and n ≥ 8B."""
    return math.ceil(math.sqrt(2 * FEWEST_BLOCKS**3) * ratio**2)


def _drift(values: np.ndarray, error: float) -> float:
    # Each half has an error larger by √2, and their difference by √2 again.
    half = len(values) // 2
    return float(values[-half:].mean() - values[:half].mean()) / (2 * error)
