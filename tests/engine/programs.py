# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers whose compiled programs are shared: each kernel and capacity compiles once a session."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

import pytest

from engine import Driver, Params, Setup
from engine.capacity import Capacity
from engine.params import Laws
from engine.program import Program, compile_program

# Room for 64 rods, and for their lists at phi = 0.3 and a range of two body widths; that of native
# code has no limit of candidates.
ROOM = Capacity(rods=64, chunks=1, slots=32, candidates=64)
NATIVE_ROOM = Capacity(rods=64, chunks=4, slots=32, candidates=0)

FIFTY = Params(space_size=28.0, dt=0.003, activity_thresh=3.0)


@functools.cache
def _compiled(kernel: str, capacity: Capacity, laws: Laws) -> Program:
    return compile_program(Setup(rods=1, **asdict(laws)), kernel, capacity, "")


def compile_once(
    setup: Setup, kernel: str, capacity: Capacity, reason: str, threads: int = 1
) -> Program:
    """Like `compile_program`, but a program that is at hand already is not compiled again."""
    program = _compiled(kernel, capacity, setup.laws)
    return replace(program, record=replace(program.record, reason=reason))


@contextmanager
def shared_programs(room: Capacity = ROOM, native_room: Capacity = NATIVE_ROOM) -> Iterator[None]:
    """Drivers that are made inside begin with the capacity `room`; nobody compiles anew."""

    def room_for(rods: int, params: Params, platform: str, kernel: str) -> Capacity:
        return native_room if kernel == "native" else room

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.runner.compile_program", compile_once)
        patch.setattr("engine.runner.capacity_for", room_for)
        yield


def setup_for(kernel: str, rods: int) -> Setup:
    """The setup that comes to that one of `KERNELS`."""
    if kernel == "native":
        return Setup(rods=rods, kernel="neighbours")
    return Setup(rods=rods, kernel=kernel, native="off")


def fifty(kernel: str) -> Driver:
    """Fifty rods, relaxed, at step 0."""
    with shared_programs():
        return Driver(setup_for(kernel, 50), FIFTY, seed=5)
