# SPDX-License-Identifier: GPL-3.0-or-later
"""How hard it is to move and to turn a rod: equation (9) of docs/model.md.

Arithmetic on single numbers, which may be traced; nothing here needs JAX.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from engine.params import Params

# The aspect ratios for which the formulas of anisotropic drag were fitted.
SHORTEST, LONGEST = 2.0, 30.0


class Drag(NamedTuple):
    """Force over velocity along a rod and across it, and torque over angular velocity."""

    along: Any
    across: Any
    turning: Any


def drag_of(params: Params, law: str, log: Callable[[Any], Any] = math.log) -> Drag:
    """The drag of a rod, by one of the choices of `engine.params.Laws.drag`.

    isotropic: γℓ, γℓ and γℓ³/12, uniform drag per length (ours). anisotropic: a cylinder of the
    length and width of the whole rod in a viscous fluid (Wensink & Löwen 2012, after Tirado,
    Martínez & García de la Torre 1984), γ times the width being their friction f₀. `log` is
    `jnp.log` where numbers are traced.
    """
    gamma, width = params.gamma, 2 * params.radius
    if law == "isotropic":
        length = params.length
        return Drag(gamma * length, gamma * length, gamma * length * length * length / 12)
    a = (params.length + width) / width
    per, log_a = 1 / a, log(a)
    along = 2 * math.pi / (log_a - 0.207 + per * (0.980 - 0.133 * per))
    across = 4 * math.pi / (log_a + 0.839 + per * (0.185 + 0.233 * per))
    turning = math.pi / 3 * a * a / (log_a - 0.662 + per * (0.917 - 0.050 * per))
    line = gamma * width
    return Drag(line * along, line * across, line * width * width * turning)
