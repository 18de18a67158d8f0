# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields on a grid: mean velocity, vorticity, enstrophy, energy spectrum.

A grid has as many rows as columns; the first row is at y = 0, and so is the first column at x = 0.
Everything is periodic.
"""

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64

from engine.observables.checked import (
    ObservableError,
    above_zero,
    numbers,
    places,
    same_number,
)


class Smoothing(NamedTuple):
    """How sums over rods become a field: on `cells` a side, by a Gaussian of deviation `sigma`, l.

    A Gaussian of less than a cell would show the grid.
    """

    cells: int
    sigma: float


def smoothing_for(space_size: float, sigma: float, most: int = 1024) -> Smoothing:
    """A grid on which `sigma` (l) is at least two cells, with an even number of them.

    `sigma` grows where more than `most` cells a side would be needed.
    """
    side, wide = above_zero("space_size", space_size), above_zero("sigma", sigma)
    cells = min(max(16, 2 * math.ceil(side / wide)), most)
    return Smoothing(cells, max(wide, 2 * side / cells))


def smoothed(
    pos: np.ndarray, weights: np.ndarray, space_size: float, how: Smoothing
) -> Float64[np.ndarray, "weights rows columns"]:
    """Σ w_i δ(x − x_i) after the Gaussian, for each of `weights` (W, N); per area, 1/l².

    A rod is shared out to the four cells around it (cloud in cell: Hockney & Eastwood, Computer
    Simulation Using Particles (1988)), so the integral over the box is Σ w_i.
    """
    if how.cells < 2:
        raise ObservableError(f"cells = {how.cells} are too few: take 2 at least.")
    side = above_zero("space_size", space_size)
    at = places(pos, side) / (side / how.cells)
    low = np.floor(at).astype(np.int64)
    share = at - low
    size = how.cells**2
    sums = np.zeros((len(weights), size))
    for dx in (0, 1):
        for dy in (0, 1):
            part = np.abs(1 - dx - share[:, 0]) * np.abs(1 - dy - share[:, 1])
            column, row = (low[:, 0] + dx) % how.cells, (low[:, 1] + dy) % how.cells
            for k, weight in enumerate(weights):
                sums[k] += np.bincount(row * how.cells + column, part * weight, size)
    k = 2 * math.pi / side * np.fft.fftfreq(how.cells, 1 / how.cells)
    gaussian = np.exp(-0.5 * how.sigma**2 * (k[:, None] ** 2 + k[None, : how.cells // 2 + 1] ** 2))
    waves = np.fft.rfft2(sums.reshape(-1, how.cells, how.cells)) * gaussian
    return np.fft.irfft2(waves, (how.cells, how.cells)) * (how.cells / side) ** 2


def within(density: np.ndarray, sigma: float) -> np.ndarray:
    """About how many rods a smoothed `density` (1/l²) is made of: those under the Gaussian.

    2πσ² is the area of a Gaussian of height 1, so a lone rod counts 1 at its own place.
    """
    return 2 * math.pi * sigma**2 * density


def velocity_field(
    pos: np.ndarray, velocity: np.ndarray, space_size: float, how: Smoothing
) -> Float64[np.ndarray, "2 rows columns"]:
    """u(x) = Σ v_i G(x − x_i)/Σ G(x − x_i), l/t, G the Gaussian.

    Where less than one rod is within the Gaussian, u fades, to 0 at half a rod (ours): the quotient
    would spread the velocity of a lone rod over an empty box.
    """
    same_number(pos=pos, velocity=velocity)
    v = numbers("velocity", velocity)
    weights = np.stack([np.ones(len(v)), v[:, 0], v[:, 1]])
    rods, x, y = smoothed(pos, weights, space_size, how)
    near = within(rods, how.sigma)
    fade = np.clip(2 * near - 1, 0, 1)
    return np.stack([x, y]) / np.where(fade > 0, rods, 1) * fade


def vorticity(u: Float64[np.ndarray, "2 n n"], space_size: float) -> Float64[np.ndarray, "n n"]:
    """ω = ∂u_y/∂x − ∂u_x/∂y, 1/t, by the derivatives of Fourier series."""
    cells = u.shape[-1]
    k = 2j * math.pi / above_zero("space_size", space_size) * np.fft.fftfreq(cells, 1 / cells)
    if cells % 2 == 0:
        k[cells // 2] = 0  # of that wave a grid does not know which way it runs
    waves = np.fft.fft2(u)
    return np.fft.ifft2(k[None, :] * waves[1] - k[:, None] * waves[0]).real


def enstrophy(omega: Float64[np.ndarray, "n n"]) -> float:
    """½⟨ω²⟩, 1/t². Wensink et al., PNAS 109, 14308 (2012)."""
    return float((omega * omega).mean()) / 2


class Spectrum(NamedTuple):
    """`energy` E at the wave numbers `k` (1/l), in l³/t²: Σ E Δk = ½⟨u²⟩, Δk = 2π/L."""

    k: Float64[np.ndarray, "shells"]
    energy: Float64[np.ndarray, "shells"]


def energy_spectrum(u: Float64[np.ndarray, "2 n n"], space_size: float) -> Spectrum:
    """E(k): ½|û|² summed over the waves of a shell of width Δk about k, over Δk.

    The first shell is the mean flow, k = 0. Wensink et al., PNAS 109, 14308 (2012), whose E is the
    same but for constants; that its sum is the energy is Parseval's theorem.
    """
    cells = u.shape[-1]
    step = 2 * math.pi / above_zero("space_size", space_size)
    waves = np.fft.fft2(u) / cells**2
    energy = np.bincount(_shells(cells).ravel(), (np.abs(waves) ** 2).sum(axis=0).ravel() / 2)
    return Spectrum(wave_numbers(space_size, cells), energy / step)


def wave_numbers(space_size: float, cells: int) -> Float64[np.ndarray, "shells"]:
    """The wave numbers of the shells of `energy_spectrum` on a grid of `cells` a side, 1/l."""
    return 2 * math.pi / space_size * np.arange(_shells(cells).max() + 1)


def _shells(cells: int) -> np.ndarray:
    n = np.fft.fftfreq(cells, 1 / cells)
    return np.rint(np.hypot(n[:, None], n[None, :])).astype(np.int64)
