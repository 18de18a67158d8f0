# SPDX-License-Identifier: GPL-3.0-or-later
"""How large the arrays of the compiled program are, as against how much of them is in use.

The program is compiled for capacities; what is in use is traced. So rods may come and go and the
range of their interaction may change without a compile, until a capacity is outgrown.
"""

import math
from typing import NamedTuple

from engine.geometry import mean_neighbours
from engine.params import Params

# Rods to a chunk: on a CPU so many that a turn of a compiled loop (a microsecond) is cheap beside
# the work in it, and so few that sums and rods stay in the cache. A GPU must be filled: one chunk.
CHUNK = 1024
# Rods that native code walks with side by side; the vectors of a CPU hold four to sixteen.
NATIVE_CHUNK = 16
LEAST_RODS = 64

# The skin of a first list, in body widths; the run itself then chooses.
FIRST_SKIN = 0.3

# The packing fraction of a crowd, which a swarm has here and there whatever its own is, and how far
# about a rod it may go on, in body lengths: what a rod sees beyond it, it sees in the mean.
CROWD, CROWD_REACH = 0.8, 2.0

# What an array has beyond the demand that it is made for.
SLACK = 1.5


class Capacity(NamedTuple):
    """Sizes of the arrays on the device.

    `rods` in `chunks` equal chunks; `slots`: neighbours that a rod may have in a list;
    `candidates`: rods, a multiple of 32, that may be tried for it when the list is built; 0 where
    there is no limit.
    """

    rods: int
    chunks: int
    slots: int
    candidates: int

    @property
    def table(self) -> tuple[int, int, int]:
        """The shape of a table of neighbours: (chunks, slots, rods to a chunk)."""
        return self.chunks, self.slots, self.rods // self.chunks

    @property
    def words(self) -> int:
        """32-bit words that hold one bit for each candidate."""
        return self.candidates // 32


class Demand(NamedTuple):
    """The most neighbours, and the most candidates, of any rod."""

    slots: int
    candidates: int


def capacity_for(rods: int, params: Params, platform: str, kernel: str) -> Capacity:
    """The capacities that a run of `rods` rods begins with.

    `rods` is rounded up to one of four sizes an octave, so that a few more or fewer fit the same
    program. The others come from the mean numbers among random rods, and from those in a crowd that
    a rod may be in, for swarms make crowds. A slot that nobody uses costs memory, and time where
    the list is made; one that is wanting costs a compile in the midst of the run.
    """
    size = _bucket(rods)
    native = kernel == "native"
    # Every size is a multiple of 16, and a power of two divides it.
    chunks = 1 if platform != "cpu" else 2 ** max(0, math.ceil(math.log2(size / CHUNK)))
    chunks = size // NATIVE_CHUNK if native else chunks
    area = 2 * params.radius * params.length + math.pi * params.radius**2
    density = rods / params.space_size**2
    excess = max(0.0, CROWD / area - density)
    # Room for a skin twice as wide as the first.
    reach = max(2 * params.radius, params.sensing_range) + 2 * FIRST_SKIN * 2 * params.radius
    crowded = min(reach, CROWD_REACH * (params.length + 2 * params.radius))

    def neighbours(density: float, distance: float) -> float:
        if params.tumble_rate > 0:  # lists look at centres then
            return density * math.pi * (params.length + distance) ** 2
        return float(mean_neighbours(density, params.length, distance))

    def tried(density: float, distance: float) -> float:
        return 6.5 * density * (params.length + distance) ** 2

    expected = Demand(
        math.ceil(neighbours(density, reach) + neighbours(excess, crowded)) + 8,
        0 if native else math.ceil(tried(density, reach) + tried(excess, crowded)) + 16,
    )
    return grown(Capacity(size, chunks, 0, 0), expected)


def grown(capacity: Capacity, demand: Demand) -> Capacity:
    """`capacity` where it meets `demand`, and larger with some slack where it does not.

    Neither slots nor candidates need be more than there are rods.
    """
    slots, candidates = capacity.slots, capacity.candidates
    most = capacity.rods
    if demand.slots > slots:
        slots = _multiple(min(math.ceil(SLACK * demand.slots), most), 8)
    if demand.candidates > candidates:
        candidates = _multiple(min(math.ceil(SLACK * demand.candidates), most), 32)
    return capacity._replace(slots=slots, candidates=candidates)


def _bucket(rods: int) -> int:
    octave = 2 ** max(0, math.ceil(math.log2(max(rods, 1) / LEAST_RODS)) - 1) * LEAST_RODS
    return next(
        size for quarter in (4, 5, 6, 7, 8) if (size := octave * quarter // 4) >= max(rods, 1)
    )


def _multiple(number: int, of: int) -> int:
    return -(-number // of) * of
