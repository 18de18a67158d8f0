# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a correct float32 kernel may lie from the float64 reference, rod by rod.

With r rounded to u = 6e-8 of the box, the contact problem passes this on amplified: the arc length
s by 1/(2 eps) at worst (parallel rods, x = 0), the vector e by 1/sqrt(eps) (the amplified part of s
moves e only by its component across the other rod). The direction e/|e| amplifies by d/|e| once
more. A bound of this kind is loose where rods are parallel or crossed and tight elsewhere, so that
one comparison serves random and degenerate configurations alike.
"""

import numpy as np

from tests.oracle.reference import ModelParams, Pairs, Rods, Sums, law, regularisation

UNIT = 2.0**-24
# Roundings that add up along the way from r to e; eight operations, each of half an ulp.
OPERATIONS = 8


def bounds(p: Pairs, state: Rods, params: ModelParams) -> Sums:
    """The largest honest error of force (N,), torque (N,) and sensed (N,) of each rod."""
    n = len(state.theta)
    other = ~np.eye(n, dtype=bool)
    width, eps = 2.0 * params.radius, regularisation(params)
    scale = OPERATIONS * UNIT * (params.space_size + params.length + width)
    arc, shift = min(scale / (2.0 * eps), params.length), scale / np.sqrt(eps)
    distance = np.sqrt((p.e**2).sum(-1))

    near = other & (distance < width + shift)
    # A contact after Hertz is at most half as stiff again, at an overlap of a whole width.
    stiffness = params.k_cc * (1.5 if law(params, "contact") == "hertz" else 1.0)
    force = stiffness * shift * (1.0 + width / np.maximum(distance, shift))
    force = np.where(near, np.minimum(force, 2.0 * stiffness * width), 0.0)
    size = np.sqrt((p.force**2).sum(-1))
    torque = np.abs(p.s) * force + arc * np.where(near, size, 0.0)
    unsure = other & (np.abs(distance - params.sensing_range) < shift)
    weight = np.abs(params.w_d + params.w_a * state.activity)[None, :]
    sensed = np.where(unsure, weight, 0.0).sum(1) + 1e-5 * np.abs(p.weight).sum(1)
    return Sums(force.sum(1), torque.sum(1), sensed)
