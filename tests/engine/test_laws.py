# SPDX-License-Identifier: GPL-3.0-or-later
"""Laws and parameters in all places where the recipe in ARCHITECTURE.md has them.

Each choice and each parameter must act in the float64 reference, and JAX's code and native code
must do as that does; so one that was forgotten in any of the three fails here without a test of its
own.
"""

import dataclasses
import math
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine import Driver, Params, Setup, Start
from engine.capacity import Capacity
from engine.drag import drag_of
from engine.interaction import Rod, single_pair_interaction
from engine.kernels import is_listed, native
from engine.measures import Meter, list_kernel
from engine.noise import noise
from engine.params import Laws, Physics
from engine.schema import (
    PARAM_FIELDS,
    SETUP_FIELDS,
    Field,
    derived,
    free_speed,
    largest_safe_dt,
    warnings_for,
)
from engine.snapshot import Snapshot
from engine.state import to_device
from engine.step import pack, unpack
from engine.storage import checkpoint
from tests.engine import seam
from tests.engine.programs import FIFTY, setup_for, shared_programs
from tests.engine.test_noise import draw
from tests.oracle import reference, rounding
from tests.oracle.reference import Rods, defaults

DOCS = Path(__file__).parents[2] / "docs"
SEED, STEP = 7, 3
LAWS = [f for f in SETUP_FIELDS if f.name in {law.name for law in dataclasses.fields(Laws)}]
WORDS = {f.name: [word for word in f.choices if word != f.default] for f in LAWS}
CHOICES = [(name, word) for name, words in WORDS.items() for word in words]
# In each of these all laws are others at once; together they have every word.
OTHERS = [
    {name: words[min(i, len(words) - 1)] for name, words in WORDS.items()}
    for i in range(max(map(len, WORDS.values())))
]
# What native code does in one, and JAX in the shortest, program; other kernels have the same step.
CODES = [name for name in ("naive", "native") if name in seam.KERNEL_NAMES]

# Everything is at work: contacts, thrust both ways, a soft threshold, memory, all kinds of noise.
BUSY = {
    "space_size": 36.0, "F_prop": 8.0, "T_prop": 0.7, "w_d": 0.8, "w_a": 0.6, "k_cc": 50.0,
    "activity_thresh": 2.5, "activity_width": 0.7, "tau_a": 0.02, "D_r": 0.4, "D_t": 0.05,
    "tumble_rate": 40.0,
}  # fmt: skip


def busy(**values: float | str) -> tuple[Rods, Physics]:
    params = seam.params_of(defaults(**{**BUSY, **values}))
    return seam.random_rods(np.random.default_rng(5), 100, params), params


def expected_of(rods: Rods, params: Physics, seed: int = SEED, step: int = STEP) -> Rods:
    return reference.one_timestep(rods, params, seed, step)


def apart(a: Rods, b: Rods, box: float) -> np.ndarray:
    """How far the rods of two states are from each other, (N, 4)."""
    turn = np.abs(np.mod(a.theta - b.theta + np.pi, 2 * np.pi) - np.pi)
    shift = np.abs(reference.minimum_image(a.pos - b.pos, box))
    return np.column_stack([shift, turn, np.abs(a.activity - b.activity)])


def acts(usual: Rods, other: Rods, box: float) -> bool:
    return bool((apart(usual, other, box) > 1e-5).any())


def check_step(rods: Rods, params: Physics, kernel: str) -> None:
    """A step by `kernel` must be that of the reference, noise and all."""
    got = seam.moved(rods, params, kernel, step=STEP, seed=SEED)
    check(got, rods, params, expected_of(rods, params))


def check(got: Rods, rods: Rods, params: Physics, expected: Rods) -> None:
    """`got` must be what is expected to come of `rods`, to rounding."""
    allowed = rounding.bounds(reference.pairs(rods, params), rods, params)
    along, across, turning = reference.drag(params)
    slow = allowed.force / min(along, across) + 1e-5
    turn = allowed.torque / turning + 1e-5
    off = apart(got, expected, params.space_size)
    ulp = 2.0**-22 * params.space_size
    assert np.all(off[:, :2] <= slow[:, None] * params.dt + ulp)
    assert np.all(off[:, 2] <= turn * params.dt + 2e-6)
    assert np.all(off[:, 3] <= 3e-6)


@pytest.mark.parametrize(("law", "word"), CHOICES)
def test_each_choice_is_in_the_reference_and_in_native_code(law, word):
    rods, params = busy(**{law: word})
    assert acts(expected_of(*busy()), expected_of(rods, params), params.space_size)
    if "native" in CODES:
        check_step(rods, params, "native")


@pytest.mark.parametrize("words", OTHERS, ids=str)
def test_each_choice_is_in_what_jax_compiles(words):
    """All at once, which is one program; each of them must act there."""
    rods, params = busy(**words)
    expected = expected_of(rods, params)
    for law in words:
        usual = busy(**{k: v for k, v in words.items() if k != law})
        assert acts(expected_of(*usual), expected, params.space_size)
    check_step(rods, params, "naive")


@pytest.mark.parametrize("kernel", [k for k in seam.KERNEL_NAMES if k not in CODES])
def test_all_other_choices_at_once_are_in_the_other_kernels(kernel):
    check_step(*busy(**OTHERS[0]), kernel)


@pytest.mark.parametrize("kernel", CODES)
@pytest.mark.parametrize("f", [f for f in PARAM_FIELDS if f.group != "hand"], ids=lambda f: f.name)
def test_each_parameter_is_in_the_reference_and_in_both_codes(f: Field, kernel):
    """But the hand's, which has a reference of its own (test_obstacles)."""
    usual = getattr(busy()[1], f.name)
    rods, _ = busy()
    params = busy(**{f.name: 0.8 * usual})[1]
    assert acts(expected_of(*busy()), expected_of(rods, params), params.space_size)
    check_step(rods, params, kernel)


@pytest.mark.parametrize("f", LAWS, ids=lambda f: f.name)
def test_each_choice_is_told_of_in_the_model(f: Field):
    text = (DOCS / "model.md").read_text(encoding="utf-8")
    assert all(f"`{f.name}` = {word}" in text for word in f.choices)


def test_native_code_refuses_a_law_or_a_word_that_it_does_not_know(monkeypatch):
    if "native" not in CODES:
        pytest.skip("there is no native code here")
    rods, params = busy()
    how = native._how
    for wrong, says in (({"growth": "none"}, "a law"), ({"contact": "glue"}, "choice of contact")):
        monkeypatch.setattr(native, "_how", lambda *given, wrong=wrong: {**how(*given), **wrong})
        call = jax.jit(lambda state, packed: native.with_list(state, unpack(packed))[1])
        with pytest.raises((jax.errors.JaxRuntimeError, ValueError), match=says):
            call(seam.state_of(rods, params, "native"), pack(params)).block_until_ready()


def test_measured_speeds_follow_the_laws():
    rods, params = busy(**OTHERS[0])
    table = np.column_stack([rods.pos, rods.theta, rods.activity]).astype(np.float32)
    meter = Meter(list_kernel(Setup()), threads=1, laws=params.laws)
    speed = meter.of_snapshot(Snapshot(table, 0, 0.0, params), ["speed"])["speed"]
    velocity, _ = reference.velocities(rods, params)
    allowed = rounding.bounds(reference.pairs(rods, params), rods, params).force
    slow = allowed / min(reference.drag(params)[:2]) + 1e-4
    assert np.all(np.abs(speed - np.hypot(*velocity.T)) <= slow)


@pytest.mark.parametrize("laws", [{}, *OTHERS], ids=str)
def test_a_kept_run_goes_on_with_the_same_bits_under_each_choice(laws, tmp_path):
    setup = replace(setup_for(CODES[-1], 50), **laws)
    params = replace(FIFTY, D_r=0.02, tumble_rate=5.0)
    with shared_programs():
        driver = Driver(setup, params, seed=5)
        driver.advance(41)
        kept = driver.checkpoint()
        checkpoint.save(tmp_path / "a.bacsim", kept, "0.1", {})
        wanted = driver.advance(60)
        again = Driver.resumed(checkpoint.load(tmp_path / "a.bacsim").checkpoint)
        assert again.setup.laws == Laws(**laws)
        np.testing.assert_array_equal(again.advance(60).rods, wanted.rods)
        # K changes nothing, and another law is another run.
        again.resume(kept)
        for _ in range(6):
            last = again.advance(10)
        np.testing.assert_array_equal(last.rods, wanted.rods)


def test_another_law_compiles_and_the_same_does_not():
    setup = setup_for(CODES[-1], 50)
    with shared_programs():
        driver = Driver(setup, FIFTY, seed=5)
        given = driver.advance(20)
        compiles = driver.stats.compiles
        driver.rebuild(setup=replace(setup, contact="hertz"))
        assert driver.stats.compiles == compiles + 1
        assert driver.stats.last.reason == "model"
        assert driver.snapshot().laws == Laws(contact="hertz")
        assert not np.array_equal(driver.advance(20).rods, given.rods)
        driver.rebuild(seed=6)
        assert driver.stats.compiles == compiles + 1


# Drag


@pytest.mark.parametrize(
    ("a", "along", "across", "turning"),
    [(5, 3.9440, 5.0371, 23.1919), (10, 2.8661, 3.9737, 60.4693)],
)
def test_anisotropic_drag_has_the_values_of_the_formulas(a, along, across, turning):
    params = Params(length=2.0 * (a - 1), radius=1.0, gamma=3.0)
    drag = drag_of(params, "anisotropic")
    assert drag.along == pytest.approx(3 * 2 * along, rel=2e-5)
    assert drag.across == pytest.approx(3 * 2 * across, rel=2e-5)
    assert drag.turning == pytest.approx(3 * 8 * turning, rel=2e-5)


@pytest.mark.parametrize("kernel", CODES)
def test_a_free_rod_under_anisotropic_drag(kernel):
    """Thrust moves it by ζ∥, the torque turns it by ζ_R, and what follows from drag says so."""
    laws = {"drag": "anisotropic"} if kernel == "native" else OTHERS[0]
    still = {"D_r": 0.0, "D_t": 0.0, "tumble_rate": 0.0, "dt": 0.5}
    _, params = busy(**laws, **still, F_prop=8.0, T_prop=0.5)
    alone = reference.rods([[20.0, 20.0]], [0.6], [1.0])
    if kernel == "native":
        after = seam.moved(alone, params, kernel)
        velocity, spin = (after.pos - alone.pos) / 0.5, (after.theta - alone.theta) / 0.5
    else:
        _, velocity, spin = seam.step_of(alone, params, kernel)
    figures = {d.name: d.value for d in derived(Setup(rods=1, drag="anisotropic"), params)}
    speed = 8.0 / 2 / 3.94396
    assert np.hypot(*velocity[0]) == pytest.approx(speed, rel=1e-5)
    assert figures["free_speed"] == pytest.approx(speed, rel=1e-5)
    assert free_speed(params, params) == pytest.approx(speed, rel=1e-5)
    assert figures["circle_radius"] == pytest.approx(speed * 23.1919 / 0.5, rel=1e-5)
    assert np.hypot(*velocity[0]) / spin[0] == pytest.approx(figures["circle_radius"], rel=1e-5)


@pytest.mark.parametrize("law", ["isotropic", "anisotropic"])
@pytest.mark.parametrize("a", [1.2, 2.0, 5.0, 16.0])
def test_the_largest_safe_step_follows_the_stiffest_contact(law, a):
    """0.4 over the fastest rate of any single contact, found by trying places and directions."""
    params = Params(length=a - 1.0, radius=0.5, gamma=0.7)
    drag = drag_of(params, law)
    angle, s = np.meshgrid(np.linspace(0, np.pi, 181), np.linspace(0, 1, 11) * params.length / 2)
    along, across = np.cos(angle), np.sin(angle)
    mobility = along**2 / drag.along + across**2 / drag.across + (s * across) ** 2 / drag.turning
    stiffest = 2 * params.k_cc * mobility.max()
    assert largest_safe_dt(Laws(drag=law), params) == pytest.approx(0.4 / stiffest, rel=1e-9)


def test_rods_for_which_the_formulas_of_drag_do_not_hold_are_warned_of():
    short = Params(length=0.8, dt=2e-4)
    assert warnings_for(Setup(), short) == ()
    (found,) = warnings_for(Setup(drag="anisotropic"), short)
    assert "aspect ratios from 2 to 30" in found
    assert "1.8" in found


# Contacts after Hertz


def pair(overlap: float, params: Physics) -> Rods:
    return seam.single(reference.rods([[8, 8], [8, 9 - overlap]], [0, 0], [0, 0]), params)


@pytest.mark.parametrize("overlap", [0.04, 0.25, 0.81])
def test_a_contact_after_hertz_is_softer_by_the_root_of_its_overlap(overlap):
    force = {}
    for word in ("hooke", "hertz"):
        params = seam.params_of(defaults(contact=word))
        for kernel in CODES:
            sums = seam.kernel_sums(kernel, pair(overlap, params), params)
            force[word, kernel] = sums.force[1, 1]
    for kernel in CODES:
        assert force["hooke", kernel] == pytest.approx(60 * overlap, rel=1e-4)
        assert force["hertz", kernel] == pytest.approx(60 * overlap**1.5, rel=1e-4)


def test_a_contact_after_hertz_has_a_derivative_wherever_it_is():
    """Also where rods only just touch, where they do not, and of a rod from itself."""
    params = seam.params_of(defaults(contact="hertz"))

    def pushed(y, same):
        main, neighb = (Rod(*map(jnp.float32, (8, at, 1, 0, 0))) for at in (0, 1))
        return single_pair_interaction(main._replace(y=y), neighb, params, same).force_y

    slope = jax.jit(jax.grad(pushed))
    # Pushed down, with the stiffness 1.5 k √(δ/d).
    assert slope(jnp.float32(0.25), jnp.asarray(False)) == pytest.approx(-45, rel=1e-3)
    for y, same in ((0.0, False), (-0.5, False), (0.5, True), (1.0, False)):
        assert np.isfinite(slope(jnp.float32(y), jnp.asarray(same)))


# Falling activation


def test_falling_activation_is_a_negative_weight_of_presence():
    """With a soft threshold the same; with a hard one, falling is active below S* alone, and w_d =
    -1 at -S* too, so that S* = n + ½ stands for -n."""
    law, weight = {"w_d": 1.0, "w_a": 0.0}, {"w_d": -1.0, "w_a": 0.0}
    for width, falls, rises in ((0.7, 3.0, -3.0), (0.0, 3.5, -3.0)):
        rods, params = busy(
            activation="falling", activity_thresh=falls, activity_width=width, **law
        )
        _, other = busy(activity_thresh=rises, activity_width=width, **weight)
        one, two = (seam.moved(rods, p, CODES[-1]).activity for p in (params, other))
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-6)


# Tumbles


@jax.jit
def _noise(state, packed):
    return noise(state, unpack(packed))


def tumbles(n: int = 4096, order: np.ndarray | None = None, **values):
    """Which of `n` rods tumble in one step, and to what angle, in order of their ids."""
    params = Params(**{"tumble_rate": 10.0, "dt": 0.02, **values})
    ids = np.arange(n) if order is None else order
    start = Start(np.zeros((n, 2)), np.zeros(n), np.linspace(0, 1, n))
    state = to_device(
        start, params, Capacity(n + 5, 1, 0, 0), listed=False, step=9, seed=4, ids=ids
    )
    drawn = _noise(state, pack(params))
    assert not np.asarray(drawn.tumbles)[n:].any(), "an empty place tumbled"
    back = np.argsort(ids)
    return np.asarray(drawn.tumbles)[:n][back], np.asarray(drawn.heading)[:n][back]


def test_tumbles_are_as_often_as_their_rate_says_and_to_all_sides():
    which, heading = tumbles()
    p = 1 - math.exp(-10.0 * 0.02)
    assert which.mean() == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / which.size))
    counts, _ = np.histogram(heading, 16, (-np.pi, np.pi))
    assert counts.sum() == which.size
    # chi squared with 15 degrees of freedom: beyond 44 in one of 10⁴ cases.
    assert ((counts - which.size / 16) ** 2).sum() / (which.size / 16) < 44
    # Whether a rod tumbles tells nothing of where to.
    assert abs(np.exp(1j * heading[which]).mean()) < 4 / math.sqrt(which.sum())


def test_tumbles_are_those_of_the_reference_whatever_the_number_and_the_order_of_rods():
    which, heading = tumbles()
    rods = reference.rods(np.zeros((4096, 2)), np.zeros(4096), np.ones(4096))
    params = seam.params_of(defaults(tumble_rate=10.0, dt=0.02))
    drawn = reference.noise(rods, params, 4, 9)
    np.testing.assert_array_equal(which, drawn.tumbles)
    np.testing.assert_allclose(heading, drawn.heading, rtol=0, atol=3e-7)
    fewer, turned = tumbles(700)
    np.testing.assert_array_equal(fewer, which[:700])
    np.testing.assert_array_equal(turned, heading[:700])
    mixed, turned = tumbles(order=np.random.default_rng(0).permutation(4096))
    np.testing.assert_array_equal(mixed, which)
    np.testing.assert_array_equal(turned, heading)
    assert not tumbles(tumble_rate=0.0)[0].any()
    # The rest of the noise does not notice.
    quiet, loud = (draw(params=Params(D_r=0.3, D_t=0.02, tumble_rate=r)) for r in (0.0, 5.0))
    np.testing.assert_array_equal(quiet[0], loud[0])


@pytest.mark.parametrize("kernel", [k for k in seam.KERNEL_NAMES if is_listed(k)])
def test_lists_hold_whom_a_rod_meets_by_a_tumble(kernel):
    """Step by step, each with the list that is there: a list lasts longer than until a tumble."""
    params = Physics(
        **dataclasses.asdict(replace(FIFTY, tumble_rate=20.0, k_cc=5.0, sensing_range=1.5))
    )
    with shared_programs():
        driver = Driver(setup_for(kernel, 50), FIFTY, seed=5)
        driver.set(tumble_rate=20.0, k_cc=5.0, sensing_range=1.5)
        before, turned = rods_in(driver.advance(1)), 0
        for _ in range(40):
            step = driver.step
            after = rods_in(driver.advance(1))
            check(after, before, params, expected_of(before, params, 5, step))
            turned += int(reference.noise(before, params, 5, step).tumbles.sum())
            before = after
    assert turned > 60
    assert driver.stats.neighbours.rebuilds_per_1000 < 500


def rods_in(snapshot: Snapshot) -> Rods:
    return reference.rods(snapshot.pos.copy(), snapshot.theta.copy(), snapshot.activity.copy())


def test_run_and_tumble_forgets_its_direction_at_its_rate():
    """⟨cos Δθ⟩ = e^{-λt} and ⟨Δr²⟩ = (2v²/λ²)(λt - 1 + e^{-λt}): a tumble forgets all at once, as
    rotational diffusion does little by little."""
    n, rate, dt, box = 4000, 0.5, 0.02, 200.0
    params = Params(
        space_size=box, k_cc=0.0, F_prop=8.0, sensing_range=0.0, activity_thresh=-1.0,
        activity_width=0.0, tumble_rate=rate, dt=dt,
    )  # fmt: skip
    rng = np.random.default_rng(2)
    start = Start(rng.uniform(0, box, (n, 2)), rng.uniform(-np.pi, np.pi, n), np.ones(n))
    driver = Driver(Setup(rods=n), params, seed=8, start=start)
    for steps in (50, 150, 200):
        last = driver.advance(steps)
        time = last.time
        cosine = np.cos(np.float64(last.theta) - start.theta)
        error = cosine.std() / math.sqrt(n)
        assert cosine.mean() == pytest.approx(math.exp(-rate * time), abs=4 * error)
        moved = reference.minimum_image(last.pos - start.pos, box)
        squared = (moved**2).sum(1)
        expected = 2 / rate**2 * (rate * time - 1 + math.exp(-rate * time))
        # Steps keep a direction for half a step longer than the formula has it.
        error = 4 * squared.std() / math.sqrt(n) + 2 * dt * expected * rate
        assert squared.mean() == pytest.approx(expected, abs=error)
