# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes that are timed."""

from dataclasses import dataclass
from typing import Literal

# Which of the four numbers of rods.
TINY, SMALL, MIDDLE, LARGE = range(4)

Code = Literal["JAX", "native"]
# Steps between two frames of a window, where they are counted.
FRAME_STEPS = 8


@dataclass(frozen=True)
class Case:
    """A process that is timed: a script of benchmarks/peers at one number of rods.

    `own` ones run in bacsim's environment, the others in that of the peers. `alike` ones compute a
    law that differs a little from the model's, and are only required to be near it.
    """

    script: str
    size: int
    options: tuple[str, ...] = ()
    threads: int = 1
    own: bool = False
    alike: bool = False


def _bacsim(code: Code, size: int, *options: str, threads: int = 1) -> Case:
    return Case("bacsim_step.py", size, ("--code", code, *options), threads, own=True)


_FRAMES = ("--batch", str(FRAME_STEPS))

# In the order in which a round asks them: what is compared stands near each other.
CASES = {
    "bacsim, native": _bacsim("native", MIDDLE),
    "numba": Case("numba_verlet.py", MIDDLE),
    "numba in blocks": Case("numba_verlet.py", MIDDLE, ("--blocks",)),
    "bacsim, JAX": _bacsim("JAX", MIDDLE),
    "bacsim, JAX, two threads": _bacsim("JAX", MIDDLE, threads=2),
    "jax-md": Case("jaxmd_neighbours.py", MIDDLE),
    "jax-md grad": Case("jaxmd_grad.py", MIDDLE, alike=True),
    "jax-md grad, our law": Case("jaxmd_grad.py", MIDDLE, ("--held",)),
    "double vmap": _bacsim("JAX", SMALL, "--kernel", "naive"),
    "bacsim, JAX, few": _bacsim("JAX", SMALL),
    "bacsim, JAX, many": _bacsim("JAX", LARGE),
    "bacsim, native, few": _bacsim("native", SMALL),
    "bacsim, native, many": _bacsim("native", LARGE),
    "bacsim, native, many, two threads": _bacsim("native", LARGE, threads=2),
    "bacsim, native, fewest": _bacsim("native", TINY),
    "bacsim, JAX, fewest": _bacsim("JAX", TINY),
    "bacsim, native, frames": _bacsim("native", MIDDLE, *_FRAMES),
    "bacsim, native, many, frames": _bacsim("native", LARGE, *_FRAMES),
}
