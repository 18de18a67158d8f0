# SPDX-License-Identifier: GPL-3.0-or-later
"""Order parameters and averages over rods. Of no rod each of them is NaN."""

import math

import numpy as np
from jaxtyping import Complex128, Float, Integer

from engine.observables.checked import ObservableError, above_zero, numbers, places, same_number


def polar_order(theta: Float[np.ndarray, "rods"]) -> float:
    """|⟨û⟩|: 1 where all rods head the same way, about √(π/4N) for random angles.

    Vicsek et al., Phys. Rev. Lett. 75, 1226 (1995).
    """
    return _mean_phase(theta, 1)


def nematic_order(theta: Float[np.ndarray, "rods"]) -> float:
    """|⟨exp 2iθ⟩|: 1 where all axes are parallel, about √(π/4N) for random angles.

    The larger eigenvalue of ⟨2 û û − 1⟩ in the plane: de Gennes & Prost, The Physics of Liquid
    Crystals (1993).
    """
    return _mean_phase(theta, 2)


def random_order(rods: int) -> float:
    """√(π/4N): what polar and nematic order are on average for N random angles (Rayleigh 1880)."""
    return math.sqrt(math.pi / (4 * rods)) if rods else math.nan


def active_fraction(activity: Float[np.ndarray, "rods"]) -> float:
    """Share of rods with activity above ½ (ours)."""
    return mean(np.asarray(numbers("activity", activity) > 0.5, np.float64))


def mean_speed(velocity: Float[np.ndarray, "rods 2"]) -> float:
    """⟨|v|⟩, l/t."""
    v = numbers("velocity", velocity)
    return mean(np.hypot(v[:, 0], v[:, 1]))


def progress(
    velocity: Float[np.ndarray, "rods 2"], theta: Float[np.ndarray, "rods"], free_speed: float
) -> float:
    """⟨v·û⟩/v₀: 1 where each rod swims as fast as an active one alone, less where others block it.

    v₀ = F_prop/(2γℓ), l/t, may have either sign, but not be 0 (ours; ⟨v·û⟩ is the effective swim
    speed of Stenhammar et al., Phys. Rev. Lett. 111, 145702 (2013)).
    """
    same_number(velocity=velocity, theta=theta)
    v, angle = numbers("velocity", velocity), numbers("theta", theta)
    if not math.isfinite(free_speed) or not free_speed:
        raise ObservableError(f"free_speed = {free_speed:g} is not possible: nothing swims.")
    return mean(v[:, 0] * np.cos(angle) + v[:, 1] * np.sin(angle)) / free_speed


def hexatic(
    pos: Float[np.ndarray, "rods 2"], space_size: float, neighbours: int = 6
) -> Complex128[np.ndarray, "rods"]:
    """ψ₆ of each rod: the mean of exp 6iφ over the directions φ to its nearest `neighbours`.

    |ψ₆| = 1 on a triangular lattice of centres. Nelson & Halperin, Phys. Rev. B 19, 2457 (1979);
    nearest neighbours in place of Voronoi's, as in freud. It takes time N log N. Where there are
    fewer other rods than `neighbours`, it is the mean over those; of a lone rod it is 0.
    """
    from scipy.spatial import KDTree

    above_zero("neighbours", neighbours)
    at, side = places(pos, space_size), float(space_size)
    others = min(neighbours, len(at) - 1)
    if others < 1:
        return np.zeros(len(at), np.complex128)
    _, near = KDTree(at, boxsize=side).query(at, k=others + 1)
    near = without_self(np.asarray(near))
    way = at[near] - at[:, None, :]
    way -= side * np.round(way / side)
    return np.exp(6j * np.arctan2(way[..., 1], way[..., 0])).mean(axis=1)


def without_self(near: Integer[np.ndarray, "rods k"]) -> Integer[np.ndarray, "rods less"]:
    """The nearest of each rod but itself, of lists that hold it somewhere, mostly first.

    Rods on one spot may be listed in any order, and a rod may be missing from its own list.
    """
    own = near == np.arange(len(near))[:, None]
    own[~own.any(axis=1), -1] = True
    return near[~own].reshape(len(near), -1)


def mean(values: Float[np.ndarray, "values"]) -> float:
    """The mean; of nothing it is NaN, without a warning."""
    return float(values.mean()) if len(values) else math.nan


def _mean_phase(theta: np.ndarray, times: int) -> float:
    angle = times * numbers("theta", theta)
    return math.hypot(mean(np.cos(angle)), mean(np.sin(angle)))
