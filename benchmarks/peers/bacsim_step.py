# SPDX-License-Identifier: GPL-3.0-or-later
"""bacsim itself, through its `Driver`, with any of its kernels (naive is the double `vmap`).

Neighbour lists run in the code that is named; with `--batch` K steps are taken in batches, as a
window takes them, each of which is waited for and ends with a snapshot.

With `rebuild` it also says what one build of the neighbour list costs: a third command of the
protocol, answered by `BUILD_SECONDS STEP_SECONDS`.
"""

import argparse
import functools
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import own_code
import protocol

from engine.driver import Driver
from engine.kernels import KERNELS, is_listed, native
from engine.kernels.neighbour_search import with_list
from engine.params import Params, Setup
from engine.snapshot import Start
from engine.state import State, to_device
from engine.step import Packed, pack, rods_of, unpack

# Batches between two readings of the clock where a single build or step would be too short.
REPEATS, STEPS = 9, 50


@functools.cache
def pair_sums(kernel: str, words: int) -> Callable[[State, Packed], tuple]:
    """A function of state and parameters: the sums by `kernel` and the order of their arrays.

    The list is made for the state that is given; `words` is its room for candidates.
    """

    @jax.jit
    def sums(state: State, packed: Packed) -> tuple:
        params = unpack(packed)
        if kernel == "native":
            state, _ = native.with_list(state, params)
        elif state.neighbours is not None:
            state, _ = with_list(state, params, words)
        return KERNELS[kernel](rods_of(state), state.n, params, state.neighbours), state.row

    return sums


class Bacsim:
    """The peer."""

    def __init__(self, path: str, kernel: str, code: str, batch: int | None) -> None:
        pos, theta, activity, values = protocol.load(path)
        self.start, self.batch = Start(pos, theta, activity), batch
        setup = Setup(rods=len(theta), kernel=kernel, native=own_code.SETTING[code])
        self.driver = Driver(setup, Params(**vars(values)), start=self.start)

    def run(self, K: int) -> int:
        """Take K steps."""
        before, left = self._builds(), K
        while left:
            now = min(left, self.batch or left)
            self.driver.advance(now)
            left -= now
        if self.batch:
            return round(self._rate() * K / 1000)
        return self._builds() - before

    def _builds(self) -> int:
        # Exact while no more batches were taken than the rate is averaged over, 64.
        return round(self._rate() * self.driver.step / 1000)

    def _rate(self) -> float:
        """Builds in 1,000 steps, over recent batches."""
        listed = self.driver.stats.neighbours
        return listed.rebuilds_per_1000 if listed else 0.0

    def save(self) -> protocol.Saved:
        """The state and its sums, in the order of the file."""
        program, last = self.driver.program, self.driver.snapshot()
        sums, row = pair_sums(program.kernel, program.capacity.words)(
            self._state(), jax.device_put(pack(last.params))
        )
        back = np.argsort(np.asarray(row))[: last.n]
        arrays = [np.asarray(a)[back] for a in (sums.force, sums.torque, sums.local_density)]
        return protocol.Saved(last.pos, last.theta, last.activity, *arrays)

    def rebuild(self) -> tuple[float, float]:
        """Seconds that one build of the list and that one step take, in the program of the run.

        A batch that has to begin with a build, less one that has not, and a step from long batches;
        medians. The state of the run is left alone.
        """
        program, packed = self.driver.program, jax.device_put(pack(self.driver.params))
        limit, one, many = jax.device_put((np.float32(np.inf), np.int32(1), np.int32(STEPS)))
        state, _ = program(self._state(), packed, one, limit)
        seconds: dict[str, list[float]] = {"built": [], "kept": [], "long": []}
        for _ in range(REPEATS):
            for name, K in (("built", one), ("kept", one), ("long", many)):
                listed = state.neighbours
                assert listed is not None
                if name == "built":
                    # Its rods lie in order, as they do when the list of a run has worn out.
                    listed = listed._replace(made_for=listed.made_for * np.float32(np.nan))
                given = jax.block_until_ready(state._replace(neighbours=listed))
                begin = time.perf_counter()
                state, _ = jax.block_until_ready(program(given, packed, K, limit))
                seconds[name].append(time.perf_counter() - begin)
        built, kept, long = [float(np.median(times)) for times in seconds.values()]
        return built - kept, (long - kept) / (STEPS - 1)

    def _state(self) -> State:
        program, last = self.driver.program, self.driver.snapshot()
        start = Start(last.pos, last.theta, last.activity)
        return to_device(start, last.params, program.capacity, listed=is_listed(program.kernel))


def facts(driver: Driver) -> dict[str, Any]:
    """What the harness wants to know of the compiled program."""
    stats = driver.stats
    return {
        "compile_s": stats.compile_seconds, "temp_bytes": stats.temp_bytes,
        "code": stats.code, "code_threads": stats.threads,
    }  # fmt: skip


def main() -> None:
    """Serve the peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("--kernel", default="neighbours")
    parser.add_argument("--code", choices=tuple(own_code.SETTING), default="JAX")
    parser.add_argument("--batch", type=int)
    chosen = parser.parse_args()
    own_code.require(chosen.code)
    begin = time.perf_counter()
    peer = Bacsim(chosen.state, chosen.kernel, chosen.code, chosen.batch)
    extra = {"rebuild": lambda _: "{!r} {!r}".format(*peer.rebuild())}
    what = f"bacsim, kernel {chosen.kernel}, code: {peer.driver.stats.code}"
    protocol.serve(peer, what, begin, extra, **facts(peer.driver))


if __name__ == "__main__":
    main()
