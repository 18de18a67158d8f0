# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to sum the same interaction over all pairs, with one signature."""

from typing import NamedTuple

import jax

from engine.kernels import naive, native, neighbours, rowsum
from engine.kernels.sums import Kernel
from engine.native import library
from engine.params import Setup
from engine.schema import ParameterError

KERNELS: dict[str, Kernel] = {
    "native": native.per_particle_sum,
    "neighbours": neighbours.per_particle_sum,
    "rowsum": rowsum.per_particle_sum,
    "naive": naive.per_particle_sum,
}

# Below this many rods a step takes less than 0.04 ms either way, and the row sum compiles in less
# time; above, a neighbour list is the faster way (docs/performance.md).
CROSSOVER = 64


class Choice(NamedTuple):
    """What a setup comes to on this machine.

    `kernel` is one of `KERNELS`; `reason` tells in words why it is in use.
    """

    kernel: str
    reason: str

    @property
    def name(self) -> str:
        """The kernel as a setup names it."""
        return name_of(self.kernel)

    @property
    def code(self) -> str:
        """Whose code the steps are: JAX's, or native for an instruction set. It decides bits."""
        return f"native, {library.native().target}" if self.kernel == "native" else "JAX"


def resolve(setup: Setup) -> Choice:
    """The kernel that `setup` asks for, and why."""
    kernel, reason = setup.kernel, "as asked for"
    if kernel == "auto":
        few = setup.rods < CROSSOVER
        kernel = "rowsum" if few else "neighbours"
        reason = f"auto: {'fewer than' if few else 'at least'} {CROSSOVER} rods"
    if kernel != "neighbours" or jax.default_backend() != "cpu":
        return Choice(kernel, reason)
    problem = "native = off" if setup.native == "off" else library.native().problem
    if problem:
        return Choice(kernel, f"{reason}; without native code: {problem}")
    return Choice("native", reason)


def check_runs_here(kernel: str) -> None:
    """Raise `ParameterError` where `kernel`, one of `KERNELS`, cannot be used on this machine."""
    problem = library.native().problem
    if kernel == "native" and jax.default_backend() != "cpu":
        problem = "steps run on a card here"
    if kernel == "native" and problem:
        raise ParameterError(
            "native", "auto", f"is what this run was computed with, and not here: {problem}",
            "Begin a new run from its rods instead, with native = off.",
        )  # fmt: skip


def name_of(kernel: str) -> str:
    """`kernel` as a setup names it: native code is one way to sum over neighbour lists."""
    return "neighbours" if kernel == "native" else kernel


def reason_now(choice: Choice, setup: Setup) -> str:
    """Why `choice` is in use, where rods have come and gone since, and are those of `setup`."""
    if resolve(setup).kernel == choice.kernel:
        return choice.reason
    return choice.reason.replace(" rods", " rods when it was compiled", 1)


def is_listed(kernel: str) -> bool:
    """Whether `kernel` sums over a neighbour list, which the state then has."""
    return kernel in ("native", "neighbours")
