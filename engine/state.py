# SPDX-License-Identifier: GPL-3.0-or-later
"""The state on the device, and how a run starts."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32
from numpy.typing import ArrayLike

from engine.boundary import PERIODIC, folded, random_rods
from engine.capacity import FIRST_SKIN, Capacity
from engine.obstacle import MOST_OBSTACLES, Obstacle, table
from engine.params import Params, Setup
from engine.schema import ParameterError
from engine.snapshot import Start


class NeighbourList(NamedTuple):
    """Who may meet whom until rods have moved by half the skin: a Verlet list.

    `table[c, :, k]` holds the rods that rod number k of chunk c may meet, then that rod itself. No
    rod of chunk c has more than `used[c]`. `pos` (N, 2) and `theta` (N,) say where rods were when
    the list was built, `made_for` (3,) the reach, length and space_size that it was built for (NaN
    for no list). `skin` is a length, `age` the steps since the build, `builds` their number since
    the start; `mean`, `most` and `candidates` tell of the latest: neighbours in the mean, and the
    most neighbours and candidates of any rod.
    """

    table: Int[Array, "chunks slots chunk"]
    used: Int[Array, "chunks"]
    pos: Float[Array, "rods 2"]
    theta: Float[Array, "rods"]
    made_for: Float[Array, "3"]
    skin: Float[Array, ""]
    age: Int[Array, ""]
    builds: Int[Array, ""]
    mean: Float[Array, ""]
    most: Int[Array, ""]
    candidates: Int[Array, ""]


class State(NamedTuple):
    """All that the next step depends on besides the parameters.

    `pos` (N, 2) in [0, L)², `theta` (N,), `activity` (N,), N being the capacity: the first `n`
    are rods, the others empty places. `direction` (N, 2) is (cos θ, sin θ), computed once a step
    because it costs as much as several pairs. `rest` (N, 3) is what rounding has left of x, y
    and θ: it is carried to the next step, so that slow rods move, and turn, where a step is below
    the resolution of float32. `id` (N,) names each rod for good, `row` (N,) is its row in a
    snapshot; the order of the arrays is that of the latest neighbour list. `step` and `seed` number
    the random draws. The first `obstacle_count` rows of `obstacles` are x, y, half width, half
    height and radius of each. `elapsed` (2,) is the sum of all steps of adaptive length since rods
    were placed, and what rounding left of it.
    """

    pos: Float[Array, "rods 2"]
    theta: Float[Array, "rods"]
    direction: Float[Array, "rods 2"]
    activity: Float[Array, "rods"]
    rest: Float[Array, "rods 3"]
    id: Int[Array, "rods"]
    row: Int[Array, "rods"]
    n: Int[Array, ""]
    step: UInt32[Array, ""]
    seed: UInt32[Array, ""]
    obstacles: Float[Array, "places 5"]
    obstacle_count: Int[Array, ""]
    elapsed: Float[Array, "2"]
    neighbours: NeighbourList | None


class Batch(NamedTuple):
    """A batch under way: the state, `done` steps of it, and what the latest step tells.

    `speed` is the sum of all rods' speeds in the latest good step.
    """

    state: State
    done: Int[Array, ""]
    ok: Bool[Array, ""]
    fits: Bool[Array, ""]
    largest_move: Float[Array, ""]
    worst: Int[Array, ""]
    speed: Float[Array, ""]


def alive(state: State) -> Bool[Array, "rods"]:
    """Which places of `state` hold a rod."""
    return jnp.arange(state.theta.size) < state.n


def random_start(setup: Setup, params: Params, seed: int) -> Start:
    """Rods at random places and angles; they overlap, so relax them before the first frame."""
    rng = np.random.default_rng(seed)
    pos, theta = random_rods(rng, setup.rods, params, setup.boundary)
    return Start(pos, theta, np.zeros(setup.rods))


def start_activity(setup: Setup, params: Params, pos: np.ndarray) -> np.ndarray:
    """The activity (N,) with which rods at `pos` (N, 2) start, as `setup.start_activity` says."""
    if setup.start_activity == "disc":
        from_centre = np.hypot(*(pos - params.space_size / 2).T)
        return (from_centre < setup.start_radius).astype(np.float32)
    return np.full(len(pos), float(setup.start_activity == "all"), np.float32)


def checked(start: Start, params: Params, boundary: str = PERIODIC) -> Start:
    """`start` in float32; see `start_from`, which it also raises the errors of.

    Raises `ParameterError` too for a step, a time or ids that no run has.
    """
    step, time = start.step, start.time
    if isinstance(step, bool) or not isinstance(step, int | np.integer) or not 0 <= step < 2**63:
        raise ParameterError("step", step, "is not possible", "Give a whole number, at least 0.")
    if not isinstance(time, int | float | np.number) or not 0 <= time < math.inf:
        raise ParameterError("time", time, "is not possible", "Give a number of at least 0.")
    found = start_from(start.pos, start.theta, start.activity, params, boundary)
    return replace(found, step=int(step), time=float(time), ids=_checked_ids(start.ids, found))


def _checked_ids(ids: np.ndarray | None, start: Start) -> np.ndarray | None:
    if ids is None:
        return None
    ids = np.asarray(ids)
    whole = ids.dtype.kind in "iu" and ids.shape == start.theta.shape
    # The next one to come must be a number of int32 as well.
    edges = np.concatenate([[-1], ids.astype(np.int64) if whole else [], [2**31 - 1]])
    if not (whole and np.all(edges[:-1] < edges[1:])):
        raise ParameterError(
            "ids", ids.ravel()[:5].tolist(), "do not name these rods",
            "Give a whole number from 0 for each rod, in rising order.",
        )  # fmt: skip
    return ids.astype(np.int32)


def start_from(
    pos: ArrayLike,
    theta: ArrayLike,
    activity: ArrayLike,
    params: Params,
    boundary: str = PERIODIC,
) -> Start:
    """A start in float32, its positions folded into [0, L)² and its angles into [-π, π].

    One rod may come without its axis, and one activity stands for all. Raises `ParameterError` for
    arrays whose shapes disagree, that are no numbers of float32, or whose activity leaves [0, 1],
    and for centres beyond a wall.
    """
    try:
        pos, theta, activity = (np.array(a, np.float64) for a in (pos, theta, activity))
    except (TypeError, ValueError, OverflowError) as error:
        raise ParameterError(
            "start", str(error), "is what is wrong with these arrays",
            "Give numbers of shapes (N, 2), (N,), (N,).",
        ) from error  # fmt: skip
    theta = np.atleast_1d(theta)
    n = len(theta)
    pos = pos.reshape(n, 2) if pos.ndim == 1 and pos.size == 2 * n <= 2 else pos
    activity = activity if activity.ndim else np.full(n, activity)
    shapes = pos.shape, theta.shape, activity.shape
    if shapes != ((n, 2), (n,), (n,)):
        raise ParameterError(
            "start", shapes, "has arrays of unequal shapes", "Give (N, 2), (N,), (N,)."
        )
    for array in (pos, theta, activity):
        outside = array[~(np.abs(array) <= np.finfo(np.float32).max)]
        if outside.size:
            raise ParameterError(
                "start", float(outside[0]), "cannot be simulated", "Give finite numbers."
            )
    # As much as rounding may do to a weighted mean of values in [0, 1].
    outside = activity[(activity < -1e-6) | (activity > 1 + 1e-6)]
    if outside.size:
        raise ParameterError(
            "start", float(outside[0]), "is not possible as an activity", "Give 0 to 1."
        )
    places = folded(pos, params, boundary)
    # Folded before it is rounded, since float32 knows 2,000 rad to 1e-4 only. Angles of our own
    # states pass π by a rounding, and must come back with the same bits.
    far = np.abs(theta) > math.pi + 1e-6
    theta[far] = np.arctan2(np.sin(theta[far]), np.cos(theta[far]))
    return Start(places, theta.astype(np.float32), activity.astype(np.float32))


def to_device(
    start: Start,
    params: Params,
    capacity: Capacity,
    *,
    listed: bool,
    step: int = 0,
    seed: int = 0,
    ids: np.ndarray | None = None,
    rest: np.ndarray | None = None,
    obstacles: Sequence[Obstacle] = (),
    boundary: str = PERIODIC,
) -> State:
    """`start` as a `State` on the default device; see `on_host`."""
    return jax.device_put(
        on_host(
            start, params, capacity, listed=listed, step=step, seed=seed, ids=ids, rest=rest,
            obstacles=obstacles, boundary=boundary,
        )
    )  # fmt: skip


def on_host(
    start: Start,
    params: Params,
    capacity: Capacity,
    *,
    listed: bool,
    step: int = 0,
    seed: int = 0,
    ids: np.ndarray | None = None,
    rest: np.ndarray | None = None,
    obstacles: Sequence[Obstacle] = (),
    boundary: str = PERIODIC,
) -> State:
    """`start` as a `State` of NumPy arrays, with room for `capacity`.

    `listed` adds a neighbour list, not built yet. `ids` (N,) are 0 … N - 1 and `rest` (N, 3) is 0
    where not given. Raises `ParameterError` as `checked` does.
    """
    start = checked(start, params, boundary)
    n, size = len(start.theta), capacity.rods

    def padded(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.zeros((size - n, *array.shape[1:]), array.dtype)])

    row, theta = np.arange(size, dtype=np.int32), padded(start.theta)
    host: list[Any] = [
        padded(start.pos), theta, np.stack([np.cos(theta), np.sin(theta)], axis=1),
        padded(start.activity),
        np.zeros((size, 3), np.float32) if rest is None else padded(np.asarray(rest, np.float32)),
        row if ids is None else padded(np.asarray(ids, np.int32)), row, np.int32(n),
        np.uint32(step % 2**32), np.uint32(seed % 2**32),
        *obstacle_arrays(obstacles), np.zeros(2, np.float32),
        _no_list(capacity, FIRST_SKIN * 2 * params.radius) if listed else None,
    ]  # fmt: skip
    return State(*host)


def obstacle_arrays(obstacles: Sequence[Obstacle]) -> tuple[np.ndarray, np.int32]:
    """`State.obstacles` and `State.obstacle_count`, on the host."""
    return table(obstacles), np.int32(len(obstacles))


def remainders(state: State) -> np.ndarray:
    """`state.rest` (n, 3) of its rods in order of `row`, in NumPy."""
    rest, row, n = jax.device_get((state.rest, state.row, state.n))
    by_row = np.empty_like(rest)
    by_row[row] = rest
    return by_row[:n]


def with_capacity(state: State, capacity: Capacity) -> State:
    """`state`, without a list yet, in arrays that have room for `capacity`; same order, same skin.

    The list is then built from the same positions, so a run that grew has the bits of one that
    began large.
    """
    old = state.neighbours
    assert old is not None
    # NaN is not near any place, so the list is not current; the rest decides the next skin.
    nowhere: Any = np.full((capacity.rods, 2), np.nan, np.float32)
    empty = _no_list(capacity, 0.0)._replace(
        pos=nowhere, made_for=old.made_for, skin=old.skin, age=old.age, builds=old.builds,
        mean=old.mean,
    )  # fmt: skip
    return state._replace(neighbours=jax.device_put(empty))


def state_shapes(capacity: Capacity, *, listed: bool) -> State:
    """The shapes and types of a `State` with room for `capacity`, as `jax.jit` takes them."""
    size = capacity.rods

    def real(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, np.float32)

    def whole(*shape: int, of: type = np.int32) -> Any:
        return jax.ShapeDtypeStruct(shape, of)

    neighbours = NeighbourList(
        whole(*capacity.table), whole(capacity.chunks), real(size, 2), real(size), real(3), real(),
        whole(), whole(), real(), whole(), whole(),
    )  # fmt: skip
    return State(
        real(size, 2), real(size), real(size, 2), real(size), real(size, 3), whole(size),
        whole(size), whole(),
        whole(of=np.uint32), whole(of=np.uint32), real(MOST_OBSTACLES, 5), whole(),
        real(2), neighbours if listed else None,
    )  # fmt: skip


def _no_list(capacity: Capacity, skin: float) -> NeighbourList:
    size, whole = capacity.rods, np.int32(0)
    host: list[Any] = [
        np.zeros(capacity.table, np.int32), np.zeros(capacity.chunks, np.int32),
        np.zeros((size, 2), np.float32), np.zeros(size, np.float32), np.full(3, np.nan, np.float32),
        np.float32(skin), whole, whole, np.float32(0), whole, whole,
    ]  # fmt: skip
    return NeighbourList(*host)
