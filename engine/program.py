# SPDX-License-Identifier: GPL-3.0-or-later
"""The K-step program, compiled ahead, timed by JAX's own events, checked against memory."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
import psutil

from engine.kernels import KERNELS
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.state import State
from engine.step import Report, advance, pack
from engine.timing import CompileRecord, watch_compiles

# State, sorted copies, accumulators and report of any kernel, in bytes a rod, generously.
_BYTES_A_ROD = 512


@dataclass(frozen=True)
class Program:
    """`advance` compiled for one number of rods and one kernel.

    `temp_bytes` is what XLA reserves for temporaries; `record` tells what the compile cost.
    """

    rods: int
    kernel: str
    compiled: Any
    temp_bytes: int
    record: CompileRecord

    def __call__(
        self, state: State, packed: jax.Array, K: jax.Array, most_move: jax.Array
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


def check_memory(setup: Setup) -> None:
    """Raise `ParameterError` where the rods alone would not fit into memory."""
    _require(setup, setup.rods * _BYTES_A_ROD)


def _require(setup: Setup, needed: int) -> None:
    available = available_bytes()
    if needed > available:
        advice = " or kernel = 'rowsum'" if setup.kernel == "naive" else ""
        raise ParameterError(
            "rods", setup.rods,
            f"with kernel = {setup.kernel!r} needs {needed / 1e9:,.1f} GB of memory, and "
            f"{available / 1e9:,.1f} GB are free",
            f"Take fewer rods{advice}.",
        )  # fmt: skip


def compile_program(setup: Setup, reason: str) -> Program:
    """Compile `advance` for `setup`; takes seconds, and allocates nothing of size.

    Raises `ParameterError` where the program would need more memory than there is.
    """
    n = setup.rods
    arguments = (
        State(*_shapes(np.float32, (n, 2), (n,), (n,)), *_shapes(np.uint32, (), ())),
        *_shapes(np.float32, pack(Params()).shape),
        *_shapes(np.int32, ()),
        *_shapes(np.float32, ()),
    )
    jitted = jax.jit(partial(advance, kernel=KERNELS[setup.kernel]), donate_argnums=0)
    # Twice the lanes where the CPU has AVX-512; XLA's default leaves half of each register empty.
    wide: dict[str, Any] = (
        {"xla_cpu_prefer_vector_width": 512} if jax.default_backend() == "cpu" else {}
    )
    with watch_compiles() as seen:
        compiled = jitted.trace(*arguments).lower().compile(compiler_options=wide)
    memory = compiled.memory_analysis()
    temp_bytes = memory.temp_size_in_bytes if memory else 0
    _require(setup, temp_bytes)
    record = CompileRecord(reason, seen.trace_s, seen.lower_s, seen.compile_s, seen.cache)
    return Program(n, setup.kernel, compiled, temp_bytes, record)


def _shapes(dtype: type, *shapes: tuple[int, ...]) -> list[Any]:
    return [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
