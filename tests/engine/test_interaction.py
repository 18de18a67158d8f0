# SPDX-License-Identifier: GPL-3.0-or-later
"""`single_pair_interaction` for two single rods, and the forms in which the model was given."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from engine.geometry import endpoints
from engine.interaction import Rod, single_pair_interaction
from engine.step import pack, propulsion, rods_of, unpack
from tests.engine import seam
from tests.oracle import reference
from tests.oracle.reference import defaults


@jax.jit
def _pair(main, neighb, packed, same):
    return single_pair_interaction(main, neighb, unpack(packed), same)


def pair_term(main, neighb, params, same=False):
    """Each rod is (x, y, theta, activity)."""
    rods = [
        Rod(*(jnp.float32(v) for v in (x, y, np.cos(theta), np.sin(theta), activity)))
        for x, y, theta, activity in (main, neighb)
    ]
    term = _pair(*rods, pack(params), jnp.asarray(same))
    return [float(value) for value in term]


def test_two_single_rods_against_the_reference():
    params = seam.params_of(defaults(space_size=30.0, w_d=0.5, w_a=2.0))
    rng = np.random.default_rng(1)
    touching = 0
    for _ in range(300):
        pos = np.float32(np.mod([[29.5, 0.2], rng.uniform(-3, 3, 2)], 30.0))
        theta, activity = rng.uniform(-3, 3, 2), np.float32(rng.uniform(0, 1, 2))
        rods = reference.rods(pos, np.float32(theta), activity)
        main, neighb = (
            (*rods.pos[i], float(rods.theta[i]), float(rods.activity[i])) for i in (0, 1)
        )
        got = pair_term(main, neighb, params)
        pairs = reference.pairs(rods, params)
        distance = np.hypot(*pairs.e[0, 1])
        if distance < 0.05 or abs(distance - params.sensing_range) < 1e-4:
            continue
        touching += pairs.overlap[0, 1] > 0
        expected = [*pairs.force[0, 1], pairs.torque[0, 1], pairs.weight[0, 1]]
        # k times round-off 1e-6 of the distance, times d/|e| at most 20 for the direction.
        assert got == pytest.approx(expected, abs=5e-3, rel=1e-4)
    assert touching > 100


def test_a_rod_takes_nothing_from_itself():
    params = seam.params_of(defaults())
    rod = (3.0, 4.0, 0.5, 1.0)
    assert pair_term(rod, rod, params, same=True) == [0.0, 0.0, 0.0, 0.0]
    # Another rod in the very same place is sensed.
    assert pair_term(rod, rod, params, same=False)[3] == 2.0


def test_an_active_neighbour_counts_one_plus_w_a():
    params = seam.params_of(defaults(w_a=3.0))
    main = (3.0, 4.0, 0.0, 0.0)
    assert pair_term(main, (3.0, 5.5, 0.0, 0.0), params)[3] == 1.0
    assert pair_term(main, (3.0, 5.5, 0.0, 1.0), params)[3] == 4.0
    assert pair_term((3.0, 4.0, 0.0, 1.0), (3.0, 5.5, 0.0, 0.0), params)[3] == 1.0


def test_propulsion_is_the_given_form():
    """F_prop (p - pos) activity / length, which is half of F_prop along the rod."""
    params = seam.params_of(defaults(F_prop=7.0, T_prop=0.3, length=2.5))
    rods = seam.random_rods(np.random.default_rng(2), 20, params)
    p, _ = endpoints(jnp.float32(rods.pos), jnp.float32(rods.theta), jnp.float32(params.length))
    thrust = jax.jit(lambda state, packed: propulsion(rods_of(state), unpack(packed)))
    every = thrust(seam.state_of(rods, params), pack(params))
    force, torque = (np.asarray(values)[:20] for values in every)
    given = 7.0 * (np.asarray(p) - rods.pos) * rods.activity[:, None] / 2.5
    np.testing.assert_allclose(force, given, rtol=0, atol=2e-5)
    np.testing.assert_allclose(np.hypot(*np.asarray(force).T), 3.5 * rods.activity, rtol=1e-6)
    np.testing.assert_allclose(torque, 0.3 * rods.activity, rtol=1e-6)


def test_shape_annotations_are_checked_in_tests():
    """Guards the hook of tests/conftest.py itself."""
    with pytest.raises(jaxtyping.TypeCheckError):
        endpoints(jnp.zeros((3, 2)), jnp.zeros(4), 1.0)
