# SPDX-License-Identifier: GPL-3.0-or-later
"""The differentiable run: the states are a Driver's, the gradients those of finite differences."""

from dataclasses import asdict, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from engine import Obstacle, ParameterError, Params, Rods, Setup, Start, rollout
from engine.differentiable import BACKWARDS, _require
from engine.interaction import Rod, single_pair_interaction
from engine.params import Physics
from tests.oracle import reference

# Crowded, and every number of the model counts.
PARAMS = Params(
    space_size=20.0, dt=0.003, F_prop=8.0, T_prop=0.3, activity_thresh=2.5, tau_a=0.1, push_x=8.0,
    push_y=9.0, push_force=3.0,
)  # fmt: skip
WALL = Obstacle(15.0, 5.0, width=3.0, height=1.0)


def random_rods(n: int, params: Params = PARAMS) -> Rods:
    rng = np.random.default_rng(3)
    return Rods(
        rng.uniform(0, params.space_size, (n, 2)), rng.uniform(-3, 3, n), rng.uniform(0, 1, n)
    )


# Laws that compute most; the given ones are simpler, and the Driver's below.
SETUP = Setup(
    kernel="naive",
    drag="anisotropic",
    contact="hertz",
    activation="falling",
    noise_of="active",
    time_step="adaptive",
)


def loss(params: Params, rods: Rods) -> jax.Array:
    """A smooth function of all that is left of a run, the same across the edges of the box."""
    end = rollout(rods, params, 20, setup=SETUP, obstacles=[WALL])
    turns = 2 * np.pi / 20.0 * end.pos
    return jnp.sum(jnp.sin(turns)) + jnp.sum(jnp.cos(end.theta)) + jnp.sum(end.activity**2)


differentiated = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))


@pytest.mark.parametrize("kernel", ["auto", "rowsum"])
def test_the_end_is_that_of_a_driver(crowd, quickly_compiled, kernel):
    """With noise, memory, an obstacle and the hand, from a state with names of its own."""
    crowd.set(
        D_r=0.02, D_t=0.001, tumble_rate=5.0, tau_a=0.5, push_x=20.0, push_y=20.0, push_force=5.0
    )
    crowd.set_obstacles([Obstacle(10.0, 10.0, radius=2.0)])
    crowd.remove(crowd.ids[:3])
    crowd.advance(7)
    begin = crowd.snapshot()
    got = rollout(begin, crowd.params, 40, setup=Setup(kernel=kernel), seed=crowd.seed)
    end = crowd.advance(40)
    gap = reference.minimum_image(np.asarray(got.pos) - end.pos, crowd.params.space_size)
    assert got.pos.dtype == np.float32
    assert np.abs(gap).max() < 3e-5
    np.testing.assert_allclose(got.theta, end.theta, atol=3e-5)
    np.testing.assert_allclose(got.activity, end.activity, atol=1e-5)
    assert np.hypot(*(end.pos - begin.pos).T).max() > 0.05


def test_gradients_are_those_of_finite_differences(quickly_compiled):
    with jax.enable_x64(True):
        rods = random_rods(20)

        def value(params: Params, rods: Rods) -> float:
            return float(differentiated(params, rods)[0])

        _, (by_params, by_rods) = differentiated(PARAMS, rods)
        assert by_params.gamma.dtype == np.float64
        for name in ("F_prop", "k_cc", "gamma", "T_prop", "length", "tau_a", "dt", "push_force"):
            now, h = getattr(PARAMS, name), 1e-6 * getattr(PARAMS, name)
            low, high = (value(replace(PARAMS, **{name: x}), rods) for x in (now - h, now + h))
            got, expected = float(getattr(by_params, name)), (high - low) / (2 * h)
            assert got == pytest.approx(expected, rel=1e-5, abs=1e-7), name
        rng = np.random.default_rng(0)
        for name, array in rods._asdict().items():
            step = 1e-6 * rng.normal(size=array.shape)
            low, high = (value(PARAMS, rods._replace(**{name: array + by})) for by in (-step, step))
            got = float(np.sum(np.asarray(getattr(by_rods, name)) * step))
            assert got == pytest.approx((high - low) / 2, rel=1e-5), name
            assert abs(got) > 1e-9, name


def test_both_kernels_have_the_same_gradients(quickly_compiled):
    """Of rods that fill one block of the row sum and a part of a second."""

    def gradient(kernel: str) -> tuple[Params, Rod]:
        def total(params: Params, rods: Rod) -> jax.Array:
            sums = BACKWARDS[kernel](rods, jnp.asarray(80), Physics(**vars(params)), None)
            parts = (*sums.force.T, sums.torque, sums.local_density)
            return sum(jnp.sum(jnp.sin(part + i)) for i, part in enumerate(parts))

        rods = random_rods(80)
        cos, sin = np.cos(rods.theta), np.sin(rods.theta)
        params = jax.tree.map(jnp.asarray, PARAMS)
        return jax.jit(jax.grad(total, argnums=(0, 1)))(
            params, Rod(*rods.pos.T, cos, sin, rods.activity)
        )

    with jax.enable_x64(True):
        one, other = (jax.tree.leaves(gradient(kernel)) for kernel in ("naive", "rowsum"))
        assert np.abs(one[3]) > 1
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_gradients_are_finite_where_rods_lie_upon_each_other(quickly_compiled):
    """The same place, side by side, end to end, in an obstacle, under the hand; nothing moves."""
    pos = np.array([
        [3, 3], [3, 3], [3, 10], [3, 10.5], [8, 9], [12.5, 9], [15, 5], [15, 5.2], [13.5, 5.5],
        [10, 15], [10, 15], [18, 18],
    ], float)  # fmt: skip
    turned = np.array([0, 0, 0, 0, 0, 0, 0, np.pi / 2, 0, 1, -1, 0], float)
    # As many rods as above, so that nothing is compiled anew.
    rods = Rods(
        np.concatenate([pos, np.full((8, 2), 18.0)]), np.concatenate([turned, np.zeros(8)]),
        np.zeros(20),
    )  # fmt: skip
    still = replace(PARAMS, F_prop=0.0, T_prop=0.0, tau_a=0.0, push_force=0.0)
    with jax.enable_x64(True):
        for params in (PARAMS, replace(still, activity_width=0.0), replace(still, k_cc=0.0)):
            end, (by_params, by_rods) = differentiated(params, rods)
            assert np.isfinite(end)
            for name, found in {**asdict(by_params), **by_rods._asdict()}.items():
                assert np.isfinite(found).all(), (params, name)


def test_coincident_rods_have_the_gradient_of_what_needs_no_normal():
    """F = k (d/|e| - 1) e, without the part in d, which has no limit at e = 0."""

    def force(y: jax.Array) -> jax.Array:
        here, there = (Rod(jnp.float32(5), at, *jnp.eye(3)[0]) for at in (y, jnp.float32(5)))
        return single_pair_interaction(
            here, there, Physics(**asdict(PARAMS)), jnp.asarray(False)
        ).force_y

    value, slope = jax.jit(jax.value_and_grad(force))(jnp.float32(5))
    assert value == 0
    assert slope == pytest.approx(-PARAMS.k_cc, rel=1e-5)


def test_it_can_be_mapped_compiled_and_differentiated_forwards(quickly_compiled):
    rods = random_rods(5)

    def place(F_prop: jax.Array) -> jax.Array:
        return rollout(rods, replace(PARAMS, F_prop=F_prop), 5).pos

    low, middle, high = jax.jit(jax.vmap(place))(np.array([3.0, 4.0, 5.0], np.float32))
    alone, slope = jax.jit(lambda F_prop: jax.jvp(place, (F_prop,), (jnp.ones_like(F_prop),)))(4.0)
    np.testing.assert_allclose(middle, alone, atol=1e-5)
    np.testing.assert_allclose(slope, (high - low) / 2, rtol=0.02, atol=2e-6)
    assert np.abs(slope).max() > 1e-4


def test_a_path_holds_every_state(quickly_compiled):
    rods = random_rods(5)
    path = rollout(Start(*rods), PARAMS, 5, path=True)
    assert [a.shape for a in path] == [(6, 5, 2), (6, 5), (6, 5)]
    np.testing.assert_allclose(path.pos[0], rods.pos, rtol=1e-6)
    end = rollout(rods, PARAMS, 5)
    for along, last in zip(path, end, strict=True):
        np.testing.assert_allclose(along[5], last, rtol=1e-5)
    assert np.abs(path.pos[5] - path.pos[4]).max() > 1e-3


def test_a_step_that_cannot_be_trusted_leaves_no_number():
    """A Driver refuses it with an error, which a compiled program has no way to raise."""
    rods, stiff = random_rods(5), replace(PARAMS, k_cc=1e6)
    rods.pos[1] = rods.pos[0] + 0.3
    assert np.isnan(rollout(rods, stiff, 5).pos).all()


def test_kernels_without_a_gradient_are_refused():
    with pytest.raises(ParameterError, match=r"cannot be differentiated.*native.*'rowsum'"):
        rollout(random_rods(5), PARAMS, 5, setup=Setup(kernel="neighbours"))


def test_what_cannot_be_simulated_is_refused():
    rods = random_rods(5)
    with pytest.raises(ParameterError, match="static_argnames"):
        jax.jit(lambda steps: rollout(rods, PARAMS, steps))(5)
    with pytest.raises(ParameterError, match="steps = -1"):
        rollout(rods, PARAMS, -1)
    with pytest.raises(ParameterError, match="step = -1 is no plain whole number"):
        rollout(rods, PARAMS, 5, step=-1)
    with pytest.raises(ParameterError, match=r"343\.6 GB of memory for 5 rods.*Take at most"):
        rollout(rods, PARAMS, 2**31 - 1, path=True)
    with pytest.raises(ParameterError, match="unequal shapes"):
        rollout(rods._replace(theta=rods.theta[:2]), PARAMS, 5)
    with pytest.raises(ParameterError, match="nan"):
        rollout(rods._replace(theta=rods.theta * np.nan), PARAMS, 5)
    with pytest.raises(ParameterError, match="space_size"):
        rollout(rods, replace(PARAMS, length=12.0), 5)


@pytest.mark.parametrize("value", [{"space_size": 30.0}, (1, 2, 3), None])
def test_another_kind_of_parameters_is_refused(value):
    # Not by `rollout` itself, whose types are checked in tests before it can tell.
    with pytest.raises(ParameterError, match=f"params = .{type(value).__name__}. .*Give Params"):
        _require("params", value, (Params,))
