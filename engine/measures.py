# SPDX-License-Identifier: GPL-3.0-or-later
"""What each rod is like at one moment: measures of rods, on demand, beside the frame path.

They come from small programs of their own, compiled when first asked for. Parameters are traced, so
that no edit compiles. Neighbour lists are the run's where they are current, and are built in the
same way where they are not, so time and memory grow with the number of rods. A run that is measured
keeps its bits.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Float32, Int

from engine.capacity import Capacity, Demand, capacity_for, grown
from engine.geometry import cores_meet, displacement
from engine.interaction import Rod, contact_points
from engine.kernels import native, resolve
from engine.kernels.gather import gather
from engine.kernels.neighbour_search import with_list
from engine.kernels.neighbours import is_current, per_particle_sum
from engine.kernels.sums import Kernel
from engine.params import GIVEN, Laws, Physics, Setup
from engine.program import check_memory, compiled_ahead
from engine.schema import ParameterError
from engine.snapshot import MEASURES, Snapshot, Start, Trust
from engine.state import State, alive, state_shapes, to_device, with_capacity
from engine.step import (
    PARAM_NAMES,
    Packed,
    pack,
    propulsion,
    rods_of,
    speed,
    surrounding,
    unpack,
    update_velocity,
)
from engine.timing import CompileRecord

# Which measures come from sums over neighbours, and which from looking at each contact.
_SUMMED = ("speed", "velocity_x", "velocity_y", "local_density")
_TOUCHING = ("overlap", "contacts", "cluster")


class Meter:
    """Measures rods, in order of the rows of a snapshot.

    `kernel` is `native` or `neighbours`: whose code it is, and how the lists are laid out that
    `of_run` is given. `on_compile` is called with the reason before each compile, `note` with what
    it cost. `laws` decide how fast rods move that are driven and pushed.
    """

    def __init__(
        self,
        kernel: str,
        threads: int,
        on_compile: Callable[[str], None] = lambda _: None,
        note: Callable[[CompileRecord], None] = lambda _: None,
        laws: Laws = GIVEN,
    ) -> None:
        self.kernel = kernel
        self.laws = laws
        self._threads = threads
        self._on_compile = on_compile
        self._note = note
        self._programs: dict[tuple[str, Capacity], Any] = {}
        self._room: Capacity | None = None

    def of_snapshot(
        self, snapshot: Snapshot, names: str | Iterable[str]
    ) -> dict[str, Float32[np.ndarray, "rods"]]:
        """`names`, of `MEASURES`, of a state that no run need have on the device; see `of_run`."""
        return self.of_run(*self._placed(snapshot), names)

    def _placed(self, snapshot: Snapshot) -> tuple[State, Capacity, Packed]:
        """The rods of `snapshot` on the device, in arrays of the size that is told."""
        room = capacity_for(snapshot.n, snapshot.params, jax.default_backend(), self.kernel)
        if self._room is not None and self._room.rods == room.rods:
            room = self._room  # else a parameter that changes would compile
        check_memory(Setup(rods=snapshot.n), self.kernel, room)
        state = to_device(
            Start.of(snapshot), snapshot.params, room, listed=True, obstacles=snapshot.obstacles,
            boundary=self.laws.boundary,
        )  # fmt: skip
        return state, room, jax.device_put(pack(snapshot.params))

    def trust_of(self, state: State, room: Capacity, packed: Packed, step: int) -> Trust:
        """The deepest overlap and the crossed pairs of a run; see `of_run`."""
        state, room = self._listed(state, room, packed)
        deepest, crossed = jax.device_get(self._program("trust", room)(state, packed))
        return Trust(float(deepest), int(crossed), step)

    def trust_of_snapshot(self, snapshot: Snapshot) -> Trust:
        """The same of a state that no run need have on the device."""
        return self.trust_of(*self._placed(snapshot), snapshot.step)

    def of_run(
        self, state: State, room: Capacity, packed: Packed, names: str | Iterable[str]
    ) -> dict[str, Float32[np.ndarray, "rods"]]:
        """`names`, of `MEASURES`, of the rods of a run in arrays of the size `room`.

        `state`, which has a list, and the parameters stay as they are. Raises `ParameterError` for
        a name that is unknown, and where there is no memory.
        """
        wanted = checked_names(names)
        if not wanted:
            return {}
        state, room = self._listed(state, room, packed)
        n, row = int(state.n), np.asarray(state.row)
        found: dict[str, Any] = {}
        if any(name in _SUMMED for name in wanted):
            found |= jax.device_get(self._program("sums", room)(state, packed)._asdict())
        if any(name in _TOUCHING for name in wanted):
            touching: _Touching = self._program("contacts", room)(state, packed)
            found |= {"overlap": touching.overlap, "contacts": touching.contacts}
            if "cluster" in wanted:
                found["cluster"] = _cluster_sizes(touching, n)
        measured = {}
        for name in wanted:
            by_row = np.empty(len(row), np.float32)
            by_row[row] = found[name]
            measured[name] = by_row[:n]
        return measured

    def _listed(self, state: State, room: Capacity, packed: Packed) -> tuple[State, Capacity]:
        """`state` with a list that is current, in larger arrays where it would not fit."""
        if self._program("current", room)(state, packed):
            return state, room
        while True:
            built, fits = self._program("list", room)(state, packed)
            if fits:
                self._room = room
                return built, room
            asks = built.neighbours
            larger = grown(room, Demand(int(asks.most), int(asks.candidates)))
            check_memory(Setup(rods=int(state.n)), self.kernel, larger)
            state, room = with_capacity(state, larger), larger

    def _program(self, name: str, room: Capacity) -> Any:
        """The program of that name for arrays of the size `room`."""
        if (name, room) not in self._programs:
            self._on_compile("measures")
            # Programs for other numbers of rods would only take memory.
            kept = self._programs.items()
            self._programs = {key: made for key, made in kept if key[1].rods == room.rods}
            shapes = (
                state_shapes(room, listed=True),
                tuple(jax.ShapeDtypeStruct((), np.float32) for _ in PARAM_NAMES),
            )
            function = jax.jit(self._function(name, room))
            program, record = compiled_ahead(function, shapes, "measures")
            self._note(record)
            self._programs[name, room] = program
        return self._programs[name, room]

    def _function(self, name: str, room: Capacity) -> Callable:
        by_native = self.kernel == "native"
        if name == "current":
            return partial(_is_current, laws=self.laws)
        if name == "list":
            by_jax = partial(with_list, words=room.words)
            build = partial(native.with_list, threads=self._threads) if by_native else by_jax
            return partial(_with_list, build=build, laws=self.laws)
        if name == "sums":
            summed = partial(native.per_particle_sum, threads=self._threads)
            return partial(_sums, kernel=summed if by_native else per_particle_sum, laws=self.laws)
        return partial(_trust if name == "trust" else _touching, laws=self.laws)


def list_kernel(setup: Setup) -> str:
    """Whose neighbour lists rods of `setup` are measured with where a run keeps none."""
    return resolve(replace(setup, kernel="neighbours")).kernel


def checked_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """`names` once each, or the one that `names` is.

    Raises `ParameterError` for one that is none of `MEASURES`.
    """
    wanted = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
    for name in wanted:
        if name not in MEASURES:
            raise ParameterError(
                "measures", name, "is unknown", f"Use some of {', '.join(MEASURES)}."
            )
    return wanted


def _is_current(state: State, packed: Packed, *, laws: Laws) -> Bool[Array, ""]:
    assert state.neighbours is not None
    return is_current(state.neighbours, state.pos, state.theta, unpack(packed, laws))


def _with_list(
    state: State,
    packed: Packed,
    *,
    build: Callable[[State, Physics], tuple[State, Array]],
    laws: Laws,
) -> tuple[State, Bool[Array, ""]]:
    return build(state, unpack(packed, laws))


class _Sums(NamedTuple):
    speed: Float[Array, "rods"]
    velocity_x: Float[Array, "rods"]
    velocity_y: Float[Array, "rods"]
    local_density: Float[Array, "rods"]


def _sums(state: State, packed: Packed, *, kernel: Kernel, laws: Laws) -> _Sums:
    """Speed, and what is sensed where a neighbour counts 1 whatever its activity."""
    params = replace(unpack(packed, laws), w_d=jnp.float32(1), w_a=jnp.float32(0))
    rods = rods_of(state)
    sums = kernel(rods, state.n, params, state.neighbours)
    push, _ = surrounding(state, rods, params)
    thrust, _ = propulsion(rods, params)
    motion = update_velocity(sums.force + thrust + push, sums.torque, rods, params)
    along_x, along_y = motion.velocity.T
    return _Sums(speed(motion), along_x, along_y, sums.local_density)


class _Touching(NamedTuple):
    """What the contacts of rods come to, and with whom they are.

    `partner[k, i]` is the rod in slot k of rod i, `touches` whether they are in contact.
    """

    overlap: Float[Array, "rods"]
    contacts: Float[Array, "rods"]
    touches: Bool[Array, "slots rods"]
    partner: Int[Array, "slots rods"]


def _trust(state: State, packed: Packed, *, laws: Laws) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """The deepest overlap of any two rods, in body widths, and how many pairs of cores meet."""
    params, rods, pairs = unpack(packed, laws), rods_of(state), _pairs(state)

    def look(k: Array, found: tuple[Array, Array]) -> tuple[Array, Array]:
        j, pair = pairs.in_slot(k)
        other = Rod(*[gather(values, j) for values in rods])
        deepest = jnp.maximum(found[0], _overlap(rods, other, pair, params))
        meet = pair & (j > pairs.own) & cores_meet(
            displacement(rods.x - other.x, params), displacement(rods.y - other.y, params),
            rods.cos, rods.sin, other.cos, other.sin, params.length,
        )  # fmt: skip
        return deepest, found[1] + meet.astype(jnp.int32)

    none = jnp.zeros(pairs.own.size, jnp.float32), jnp.zeros(pairs.own.size, jnp.int32)
    deepest, meeting = lax.fori_loop(0, pairs.turns, look, none)
    return jnp.max(deepest), jnp.sum(meeting)


class _Pairs(NamedTuple):
    """The listed pairs, a slot of all rods at a time; `partner` (slots, N) as in `_Touching`."""

    partner: Int[Array, "slots rods"]
    used: Int[Array, "rods"]
    own: Int[Array, "rods"]
    there: Bool[Array, "rods"]

    @property
    def turns(self) -> Int[Array, ""]:
        """How many slots there are to look at."""
        return jnp.max(self.used)

    def in_slot(self, k: Array) -> tuple[Int[Array, "rods"], Bool[Array, "rods"]]:
        """The other rod of each in slot `k`, and whether there is one; the rod itself if not."""
        j = lax.dynamic_index_in_dim(self.partner, k, keepdims=False)
        pair = self.there & (k < self.used) & (j != self.own)
        return jnp.where(pair, j, self.own), pair


def _pairs(state: State) -> _Pairs:
    assert state.neighbours is not None
    chunks, slots, chunk = state.neighbours.table.shape
    size = chunks * chunk
    return _Pairs(
        state.neighbours.table.transpose(1, 0, 2).reshape(slots, size),
        jnp.repeat(state.neighbours.used, chunk, total_repeat_length=size),
        jnp.arange(size),
        alive(state),
    )


def _overlap(
    rods: Rod, other: Rod, pair: Bool[Array, "rods"], params: Physics
) -> Float[Array, "rods"]:
    """The overlap of each pair in body widths; 0 is none."""
    at = contact_points(rods, other, params)
    distance = jnp.sqrt(at.x * at.x + at.y * at.y)
    return jnp.where(pair, jnp.maximum(0, 1 - distance / (2 * params.radius)), 0)


def _touching(state: State, packed: Packed, *, laws: Laws) -> _Touching:
    """Each listed pair looked at for contact, a slot of all rods at a time."""
    params, rods, pairs = unpack(packed, laws), rods_of(state), _pairs(state)

    def look(k: Array, overlaps: Array) -> Array:
        j, pair = pairs.in_slot(k)
        other = Rod(*[gather(values, j) for values in rods])
        overlap = _overlap(rods, other, pair, params)
        return lax.dynamic_update_index_in_dim(overlaps, overlap, k, 0)

    none = jnp.zeros(pairs.partner.shape, jnp.float32)
    overlaps = lax.fori_loop(0, pairs.turns, look, none)
    touches = overlaps > 0
    contacts = jnp.sum(touches, axis=0).astype(jnp.float32)
    return _Touching(jnp.max(overlaps, axis=0, initial=0), contacts, touches, pairs.partner)


def _cluster_sizes(touching: _Touching, n: int) -> Float32[np.ndarray, "rods"]:
    """How many rods hang together with each. On the host, where a graph is walked fastest."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    touches, partner = np.asarray(touching.touches), np.asarray(touching.partner)
    size = touches.shape[1]
    pairs = np.flatnonzero(touches)
    of, with_ = pairs % size, partner.reshape(-1)[pairs]
    graph = coo_array((np.ones(len(of), np.int8), (of, with_)), (size, size))
    _, label = connected_components(graph, directed=False)
    return np.bincount(label)[label].astype(np.float32)
