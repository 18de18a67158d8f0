# SPDX-License-Identifier: GPL-3.0-or-later
"""The K-step program, compiled ahead, timed by JAX's own events, checked against memory."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
import psutil

from engine.capacity import Capacity
from engine.kernels import is_listed, name_of
from engine.kernels.native import BYTES_A_ROD
from engine.params import Laws, Setup
from engine.schema import ParameterError
from engine.state import State, state_shapes
from engine.step import PARAM_NAMES, Packed, Report, advance, steps_for
from engine.timing import CompileRecord, watch_compiles

# State, sorted copies, accumulators and report of any kernel, in bytes a rod, generously; and what
# each slot and each word of candidates of a neighbour list adds.
_BYTES_A_ROD, _BYTES_A_SLOT, _BYTES_A_WORD = 512, 12, 12


@dataclass(frozen=True)
class Program:
    """`advance` compiled for one capacity, one kernel and the laws of one model.

    `temp_bytes` is what XLA and native code take for temporaries; `record` tells what the compile
    cost.
    """

    capacity: Capacity
    kernel: str
    laws: Laws
    compiled: Any
    temp_bytes: int
    record: CompileRecord

    def __call__(
        self, state: State, packed: Packed, K: jax.Array, most_move: jax.Array
    ) -> tuple[State, Report]:
        """Run `advance`; `state` is donated."""
        return self.compiled(state, packed, K, most_move)

    def text(self) -> str:
        """The optimised program as HLO text, whose metadata names the stage of every operation."""
        return self.compiled.as_text()


def device_name() -> str:
    """The device that steps run on, in words: "CPU", or the card's name."""
    device = jax.devices()[0]
    return "CPU" if device.platform == "cpu" else device.device_kind


def available_bytes() -> int:
    """Memory that the device can still give, in bytes."""
    stats = jax.devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"] - stats.get("bytes_in_use", 0)
    return psutil.virtual_memory().available


def check_memory(setup: Setup, kernel: str, capacity: Capacity | None = None) -> None:
    """Raise `ParameterError` where the rods alone, or `capacity` for them, would not fit."""
    needed = setup.rods * _BYTES_A_ROD
    if capacity and is_listed(kernel):
        a_rod = _BYTES_A_ROD + _BYTES_A_SLOT * capacity.slots + _BYTES_A_WORD * capacity.words
        needed = capacity.rods * a_rod
    _require(setup, kernel, needed)


def _require(setup: Setup, kernel: str, needed: int) -> None:
    available = available_bytes()
    if needed > available:
        raise ParameterError(
            "rods", setup.rods,
            f"with kernel = {name_of(kernel)!r} needs {needed / 1e9:,.1f} GB of memory, and "
            f"{available / 1e9:,.1f} GB are free",
            f"Take fewer rods{_other_ways(setup, kernel, available)}.",
        )  # fmt: skip


def _other_ways(setup: Setup, kernel: str, available: int) -> str:
    """What else than fewer rods may fit."""
    if kernel == "naive":
        return " or kernel = 'auto'"
    if not is_listed(kernel) or setup.rods * _BYTES_A_ROD > available:
        return ""
    return (
        ", or a shorter sensing_range, or kernel = 'rowsum', which keeps no lists and takes longer"
    )


def compile_program(
    setup: Setup, kernel: str, capacity: Capacity, reason: str, threads: int = 1
) -> Program:
    """Compile `advance` for `kernel` and `capacity`; takes seconds, and allocates nothing of size.

    `threads` is for native code.

    Raises `ParameterError` where the program would need more memory than there is.
    """
    arguments = (
        state_shapes(capacity, listed=is_listed(kernel)),
        tuple(jax.ShapeDtypeStruct((), np.float32) for _ in PARAM_NAMES),
        jax.ShapeDtypeStruct((), np.int32),
        jax.ShapeDtypeStruct((), np.float32),
    )
    step = partial(advance, steps=steps_for(kernel, capacity, threads), laws=setup.laws)
    compiled, record = compiled_ahead(jax.jit(step, donate_argnums=0), arguments, reason)
    memory = compiled.memory_analysis()
    temp_bytes = memory.temp_size_in_bytes if memory else 0
    if kernel == "native":
        temp_bytes += BYTES_A_ROD * capacity.rods
    _require(setup, kernel, temp_bytes)
    return Program(capacity, kernel, setup.laws, compiled, temp_bytes, record)


def compiled_ahead(function: Any, arguments: tuple, reason: str) -> tuple[Any, CompileRecord]:
    """A function that was made by `jax.jit`, compiled for shapes, and what that cost."""
    # Twice the lanes where the CPU has AVX-512; XLA's default leaves half of each register empty.
    wide: dict[str, Any] = (
        {"xla_cpu_prefer_vector_width": 512} if jax.default_backend() == "cpu" else {}
    )
    # All is written for 32 bits; a notebook may have asked JAX for 64 elsewhere.
    with watch_compiles() as seen, jax.enable_x64(False):
        lowered = function.trace(*arguments).lower()
        compiled = lowered.compile(compiler_options=wide)
    record = CompileRecord(reason, seen.trace_s, seen.lower_s, seen.compile_s, seen.cache)
    return compiled, record
