# SPDX-License-Identifier: GPL-3.0-or-later
"""The neighbour list: whom it holds, how long it holds good, and the sums over it.

The other kernels' tests run on it too (test_kernels, test_invariances); here are those that need
the list itself, several chunks, or rods that have moved since it was built.
"""

import functools
import math
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.capacity import Capacity
from engine.kernels import KERNELS, native
from engine.kernels.neighbour_search import with_list
from engine.kernels.neighbours import is_current
from engine.params import Params, Physics
from engine.schema import smallest_space_size
from engine.snapshot import Start
from engine.state import State, to_device
from engine.step import pack, rods_of, unpack
from tests.engine import seam
from tests.oracle import reference
from tests.oracle.reference import Rods, Sums, defaults

# One room for every example, so that one program serves them all. With so many chunks a list of
# JAX is sorted in two groups; a single chunk is what test_kernels has. Native code has chunks of 16
# rods, and no limit of candidates.
ROOMS = {
    "neighbours": Capacity(rods=128, chunks=64, slots=64, candidates=96),
    "native": Capacity(rods=128, chunks=8, slots=64, candidates=0),
}
EITHER = pytest.mark.parametrize("kernel", ROOMS)


@functools.cache
def _program(function, kernel: str = ""):
    return jax.jit(lambda state, packed: function(state, unpack(packed), kernel))


def _built(state: State, params: Params, kernel: str):
    if kernel == "native":
        return native.with_list(state, params)
    return with_list(state, params, ROOMS[kernel].words)


def _summed(state: State, params: Params, kernel: str):
    return KERNELS[kernel](rods_of(state), state.n, params, state.neighbours)


def _holds(state: State, params: Params, _: str):
    return is_current(state.neighbours, state.pos, state.theta, params)


def unlisted(rods: Rods, params: Params, kernel: str, skin: float = 0.3) -> State:
    """`rods` without a list yet; that will have a skin of `skin` body widths."""
    start = Start(rods.pos, rods.theta, rods.activity)
    state = to_device(start, params, ROOMS[kernel], listed=True)
    thick = jax.device_put(np.float32(skin * 2 * params.radius))
    return state._replace(neighbours=state.neighbours._replace(skin=thick))


def built(rods: Rods, params: Params, kernel: str, skin: float = 0.3) -> State:
    """`rods` with their list, whose skin is `skin` body widths."""
    program = _program(_built, kernel)
    state, fits = program(unlisted(rods, params, kernel, skin), pack(params))
    assert fits
    return state


def moved_to(state: State, rods: Rods, params: Params) -> State:
    """`state` with its rods where `rods` are, and the list that it had."""
    n, row = len(rods.theta), np.asarray(state.row)
    pos, theta, direction = (np.array(a) for a in (state.pos, state.theta, state.direction))
    at = row < n
    single = seam.single(rods, params)
    pos[at], theta[at] = single.pos[row[at]], single.theta[row[at]]
    direction[at] = np.stack([np.cos(theta[at]), np.sin(theta[at])], axis=1)
    return state._replace(**jax.device_put({"pos": pos, "theta": theta, "direction": direction}))


def is_good(state: State, params: Params) -> bool:
    return bool(_program(_holds)(state, pack(params)))


def sums_of(state: State, params: Params, kernel: str) -> Sums:
    """The sums of the rods, by row."""
    sums = _program(_summed, kernel)(state, pack(params))
    n = int(state.n)
    place = np.argsort(np.asarray(state.row))
    sums = [np.asarray(values, np.float64)[place] for values in sums]
    assert not any(values[n:].any() for values in sums), "an empty place took part"
    return Sums(*(values[:n] for values in sums))


def listed_pairs(state: State) -> np.ndarray:
    """(n, n) numbers: how often each row lists each other row; only real places may be listed."""
    neighbours, n = state.neighbours, int(state.n)
    table, used, row = (np.asarray(a) for a in (neighbours.table, neighbours.used, state.row))
    size, chunk = len(row), table.shape[2]
    times = np.zeros((size, size), int)
    for i in range(size):
        column = table[i // chunk, : used[i // chunk], i % chunk]
        others = column[column != i]
        # What fills a column up comes last, so no sum depends on how long it is.
        assert np.array_equal(column[: len(others)], others)
        np.add.at(times[row[i]], row[others], 1)
    assert not times[n:].any()
    assert not times[:, n:].any()
    return times[:n, :n]


def core_distances(rods: Rods, params: Params) -> np.ndarray:
    """(n, n) distances of core lines, by the shortest image of the centres; infinite for itself."""
    axis = np.stack([np.cos(rods.theta), np.sin(rods.theta)], axis=1)
    u, v = np.broadcast_arrays(axis[:, None], axis[None, :])
    r = reference.minimum_image(rods.pos[:, None] - rods.pos[None, :], params.space_size)
    s, t = reference.contact_points(r, u, v, params.length / 2, 1e-12)
    distance = np.hypot(*np.moveaxis(r + s[..., None] * u - t[..., None] * v, -1, 0))
    np.fill_diagonal(distance, np.inf)
    return distance


def cutoff(params: Params) -> float:
    return max(2 * params.radius, params.sensing_range)


def places(rng: np.random.Generator, layout: str, n: int, params: Params) -> np.ndarray:
    box = params.space_size
    free = rng.uniform(0, box, (n, 2))
    if layout == "one point":
        return np.tile(rng.uniform(0, box, 2), (n, 1))
    if layout == "one cell":
        return np.mod(rng.uniform(0, box, 2) + 1e-3 * params.radius * rng.normal(size=(n, 2)), box)
    if layout == "clump":
        return np.mod(rng.uniform(0, box, 2) + params.length * rng.normal(size=(n, 2)), box)
    if layout == "edges":
        free[:, rng.integers(2)] = np.where(rng.uniform(size=n) < 0.5, 0, np.nextafter(box, 0))
    if layout == "row":
        free[:, rng.integers(2)] = rng.uniform(0, box)
    return free


@st.composite
def cases(draw) -> tuple[Rods, Params, float]:
    """Rods, parameters and a skin in body widths.

    Boxes from barely large enough to almost empty, aspect ratios 2 to 16, ranges from contact
    to four body widths.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    radius = draw(st.sampled_from([0.02, 0.5, 3.0]))
    length = 2 * radius * (draw(st.floats(2, 16)) - 1)
    sensing = 2 * radius * draw(st.sampled_from([0.0, 0.9, 1.0, 1.2, 2.0, 4.0]))
    values = defaults(
        length=length, radius=radius, sensing_range=sensing,
        w_d=draw(st.sampled_from([1.0, 0.0, -1.0])), w_a=draw(st.floats(-2, 2)),
    )  # fmt: skip
    slack = draw(st.sampled_from([1.0, 1.02, 1.2, 1.49, 1.51, 2.0, 5.0, 40.0]))
    # A box in float32 is no smaller than asked for.
    box = np.nextafter(np.float32(slack * smallest_space_size(Physics(**vars(values)))), np.inf)
    params = seam.params_of(SimpleNamespace(**{**vars(values), "space_size": float(box)}))
    n = draw(st.sampled_from([0, 1, 2, 20, 33, 64]))
    layout = draw(st.sampled_from(["anywhere", "one point", "one cell", "clump", "edges", "row"]))
    turn = draw(st.sampled_from([0.0, 1e-3, np.pi]))
    rods = Rods(
        places(rng, layout, n, params),
        rng.uniform(-np.pi, np.pi) + turn * rng.uniform(-1, 1, n),
        rng.uniform(0, 1, n),
    )
    return seam.single(rods, params), params, draw(st.sampled_from([0.05, 0.3, 1.0, 2.0]))


@EITHER
@settings(max_examples=100)
@given(case=cases())
def test_sums_agree_with_the_reference(kernel, case):
    rods, params, skin = case
    state = built(rods, params, kernel, skin)
    assert is_good(state, params)
    seam.agrees(sums_of(state, params, kernel), rods, params)


@EITHER
@settings(max_examples=100)
@given(case=cases())
def test_the_list_holds_who_is_near_once_and_nobody_else(kernel, case):
    """Near means a core distance below cutoff + skin, or about half a box away in x or y: the
    shortest image of such a pair may become another one."""
    rods, params, skin = case
    state = built(rods, params, kernel, skin)
    times = listed_pairs(state)
    distance, box = core_distances(rods, params), params.space_size
    thick = skin * 2 * params.radius
    assert not times.diagonal().any()
    assert times.max(initial=0) <= 1
    assert times[distance <= cutoff(params) + thick].all()
    # What is allowed for rounding: 5e-4 of a length, 1e-6 of a box.
    allowed = 1e-3 * params.length + 3e-6 * box
    apart = np.abs(reference.minimum_image(rods.pos[:, None] - rods.pos[None, :], box)).max(-1)
    far = (distance > cutoff(params) + thick + allowed) & (apart < 0.5 * box - thick - allowed)
    assert not times[far].any()
    of = state.neighbours
    assert int(of.most) == times.sum(1).max(initial=0)
    assert float(of.mean) == pytest.approx(times.sum() / max(len(times), 1), rel=1e-5)


def moves(rng: np.random.Generator, rods: Rods, params: Params, most: float) -> Rods:
    """Each rod moved and turned so that no point of it moves by more than `most`, and one does."""
    n = len(rods.theta)
    shift = most * rng.choice([0.0, 0.5, 1.0, rng.uniform()], n)
    turn = (most - shift) / (0.5 * params.length) * rng.choice([-1, 1], n)
    to = rng.uniform(-np.pi, np.pi, n)
    pos = rods.pos + shift[:, None] * np.stack([np.cos(to), np.sin(to)], axis=1)
    return rods._replace(pos=pos, theta=rods.theta + turn)


def together(rods: Rods, params: Params, listed: np.ndarray, most: float) -> Rods:
    """The nearest two rods that the list does not hold, moved towards each other."""
    distance = np.where(listed > 0, np.inf, core_distances(rods, params))
    i, j = np.unravel_index(np.argmin(distance), distance.shape)
    if not np.isfinite(distance[i, j]):
        return rods
    e = reference.pairs(rods, params).e[i, j]
    pos = rods.pos.copy()
    pos[i] -= most * e / np.hypot(*e)
    pos[j] += most * e / np.hypot(*e)
    return rods._replace(pos=pos)


@EITHER
@settings(max_examples=100)
@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_a_list_that_is_current_gives_the_sums_of_rods_that_have_moved(kernel, case, seed):
    rods, params, skin = case
    rng, state = np.random.default_rng(seed), built(rods, params, kernel, skin)
    # Less than half the skin by what rounding may do to a place.
    most = 0.499 * skin * 2 * params.radius - 2e-7 * params.space_size
    for now in (
        moves(rng, rods, params, most),
        moves(rng, rods, params, 0.5 * most),
        together(rods, params, listed_pairs(state), most) if len(rods.theta) > 1 else rods,
    ):
        there = moved_to(state, now, params)
        assert is_good(there, params)
        seam.agrees(sums_of(there, params, kernel), seam.single(now, params), params)


@EITHER
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("box", [12.7, 21.0, 60.0])
def test_the_list_reaches_to_its_full_distance_anywhere_in_the_box(kernel, axis, box):
    """Two rods in line, tips as far apart as the list must hold: along x and y, over every edge."""
    params, ahead = seam.params_of(defaults(space_size=box)), np.eye(2)[axis]
    for at in np.linspace(0, box, 60):
        pos = at * ahead + np.array([[0.0, 0.0], (4 + 0.9999 * 2.3) * ahead]) + 0.37 * box
        rods = seam.single(Rods(pos, np.full(2, axis * np.pi / 2), np.ones(2)), params)
        assert core_distances(rods, params)[0, 1] < 2.3
        assert np.array_equal(listed_pairs(built(rods, params, kernel)), 1 - np.eye(2))


@EITHER
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_a_pair_whose_shortest_image_changes_is_not_lost(kernel, axis, share):
    """In the least box two rods almost half a box apart drift on apart, and meet round the box.

    They are tilted, so that they are out of reach one way round and in line the other.
    """
    params = seam.params_of(defaults(space_size=12.0))
    apart, drift, aside = 6.0 - share, 0.998, 2.0
    tilt = -np.arctan2(aside, 12.0 - apart - drift)
    for at in (np.array([1.0, 5.0]), np.array([11.5, 11.9])):
        beside, ahead = np.array([apart, aside]), np.array([drift / 2, 0.0])
        theta = tilt
        if axis:
            beside, ahead, theta = beside[::-1], ahead[::-1], np.pi / 2 - tilt
        pos = np.array([at, at + beside])
        rods = seam.single(Rods(pos, np.full(2, theta), np.ones(2)), params)
        assert core_distances(rods, params)[0, 1] > 2.0 + 1.0
        state = built(rods, params, kernel, skin=1.0)
        now = seam.single(rods._replace(pos=rods.pos + np.outer([-1, 1], ahead)), params)
        there = moved_to(state, now, params)
        assert is_good(there, params)
        assert reference.per_particle_sum(now, params).sensed.all()
        seam.agrees(sums_of(there, params, kernel), now, params)


def spread() -> tuple[Rods, Params]:
    """Forty rods, the first across the edge."""
    params = seam.params_of(defaults(space_size=30.0))
    rods = seam.random_rods(np.random.default_rng(2), 40, params)
    rods.pos[0] = (0.01, 29.99)
    return seam.single(rods, params), params


@EITHER
@pytest.mark.parametrize("n", [0, 17, 39], ids=["first", "middle", "last"])
def test_a_list_is_current_until_one_rod_has_moved_by_half_the_skin(kernel, n):
    rods, params = spread()
    state = built(rods, params, kernel)
    for angle in np.linspace(0, 2 * np.pi, 7):
        to = np.array([np.cos(angle), np.sin(angle)])
        for part, good in ((0.49, True), (0.51, False)):
            pos = rods.pos.copy()
            pos[n] += part * 0.3 * to
            assert is_good(moved_to(state, rods._replace(pos=pos), params), params) == good
    for sign in (-1, 1):
        for part, good in ((0.49, True), (0.51, False)):
            theta = rods.theta.copy()
            theta[n] += sign * part * 0.3 / (0.5 * params.length)
            # The angle may be one turn away; the tip is not.
            for turns in (-2 * np.pi, 0, 2 * np.pi):
                now = rods._replace(theta=theta + turns)
                assert is_good(moved_to(state, now, params), params) == good
    # Half of it by a shift and the rest by a turn.
    pos, theta = rods.pos.copy(), rods.theta.copy()
    pos[n, 0] += 0.26 * 0.3
    theta[n] += 0.26 * 0.3 / (0.5 * params.length)
    assert not is_good(moved_to(state, rods._replace(pos=pos, theta=theta), params), params)


@pytest.mark.parametrize(
    ("values", "good"),
    [
        ({"sensing_range": 2.001}, False),
        ({"sensing_range": 1.999}, False),
        ({"length": 4.001}, False),
        ({"space_size": 30.001}, False),
        ({"radius": 1.01}, False),
        ({"radius": 0.6}, True),
        ({"k_cc": 1.0, "F_prop": 3.0, "w_a": 0.0, "dt": 1e-4}, True),
    ],
    ids=str,
)
@EITHER
def test_a_list_is_current_only_for_what_it_was_made_for(kernel, values, good):
    """The range, the length and the box."""
    rods, params = spread()
    state = built(rods, params, kernel)
    changed = seam.params_of(SimpleNamespace(**{**params.__dict__, **values}))
    assert is_good(state, changed) == good


def test_a_place_that_is_no_number_ends_a_list():
    rods, params = spread()
    state = built(rods, params, "neighbours")
    pos = np.array(state.pos)
    pos[5, 1] = np.nan
    assert not is_good(state._replace(pos=jax.device_put(pos)), params)


def test_a_new_state_has_no_list():
    rods, params = spread()
    assert not is_good(unlisted(rods, params, "neighbours"), params)


@pytest.mark.parametrize(
    ("kernel", "n", "spacing", "most", "candidates"),
    [
        ("neighbours", 90, 1e-3, 89, 90),
        ("neighbours", 128, 3.0, 2, 128),
        ("native", 90, 1e-3, 89, 0),
    ],
    ids=["too many neighbours", "too many candidates", "too many neighbours, native"],
)
def test_a_list_that_does_not_fit_changes_nothing_but_tells_what_would(
    kernel, n, spacing, most, candidates
):
    """Rods side by side along y in a box of which the search takes in the whole height."""
    params = seam.params_of(defaults(space_size=399.0, length=190.0, sensing_range=4.0))
    pos = np.stack([np.full(n, 9.0), 1.0 + spacing * np.arange(n)], axis=1)
    before = unlisted(Rods(pos, np.zeros(n), np.ones(n)), params, kernel)
    after, fits = _program(_built, kernel)(before, pack(params))
    assert not fits
    assert (int(after.neighbours.most), int(after.neighbours.candidates)) == (most, candidates)
    told = {"most": after.neighbours.most, "candidates": after.neighbours.candidates}
    if kernel == "native":  # which writes the table in place, so that no list is left
        told |= {"table": after.neighbours.table, "pos": after.neighbours.pos}
        assert np.isnan(after.neighbours.pos[:, 0]).all()
    expected = before._replace(neighbours=before.neighbours._replace(**told))
    jax.tree.map(np.testing.assert_array_equal, after, expected)


def test_a_loop_that_takes_several_slots_at_once_sums_the_same(monkeypatch):
    """As on a GPU, where a turn of the loop costs a launch."""
    rods, params = spread()
    state = built(rods, params, "neighbours")
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    sums = jax.jit(lambda s, packed: _summed(s, unpack(packed), "neighbours"))(state, pack(params))
    place = np.argsort(np.asarray(state.row))[:40]
    seam.agrees(Sums(*(np.asarray(v, np.float64)[place] for v in sums)), rods, params)


@EITHER
def test_the_order_of_a_list_puts_the_busiest_first_and_equals_in_order_of_place(kernel):
    """So that a chunk has few slots that are padding, and the bits of a run are its own."""
    rods, params = spread()
    state = built(rods, params, kernel)
    counts = listed_pairs(state).sum(1)[np.asarray(state.row)[:40]]
    assert np.all(np.diff(counts) <= 0)
    assert math.isclose(counts.mean(), float(state.neighbours.mean), rel_tol=1e-5)
