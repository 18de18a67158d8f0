# SPDX-License-Identifier: GPL-3.0-or-later
"""The same model as a numba user would write it: a Verlet list with a skin, loops over pairs.

Rods are sorted by cell at each build, so that neighbours lie near in memory. The list holds each
pair once, and the pairs whose core lines come nearer than the longest range plus the skin; it is
built anew when a rod's farthest tip has moved by half the skin. (A full list, and a list by
distances of centres, were slower by half; skins from 0.2 to 0.8 differ by a tenth.)

Compiled code cannot vectorise a loop that gathers rods and adds to others. With `--blocks` the
loop is cut into three over a block of pairs: gather, compute, add. LLVM vectorises the middle one.
"""

import argparse
import math
import time
from typing import Any, NamedTuple

import numpy as np
import protocol
from numba import njit

F = np.float32
ZERO, HALF, ONE, TWO, TINY = F(0), F(0.5), F(1), F(2), F(1e-20)
PI, TURN = F(math.pi), F(2 * math.pi)
SKIN = F(0.4)
# Pairs in a block: six floats in and five out of each stay in a core's own cache.
BLOCK = 2048
# For the list alone: small enough to be the distance itself, large enough to divide by.
SHARP = F(1e-7)

compiled = njit(fastmath=True, error_model="numpy")
inlined = njit(fastmath=True, error_model="numpy", inline="always")


class Constants(NamedTuple):
    """What a step needs, all float32."""

    box: Any
    half_box: Any
    half_length: Any
    width: Any
    sensing_range: Any
    epsilon: Any
    k_cc: Any
    w_d: Any
    w_a: Any
    thresh: Any
    act_width: Any
    thrust: Any
    move: Any
    turn: Any
    reach: Any
    skin: Any


class Rods(NamedTuple):
    """Arrays (N,) in the order of the last build; `ident` is each rod's place in the file."""

    x: Any
    y: Any
    theta: Any
    activity: Any
    ident: Any


class Pairs(NamedTuple):
    """The list: rods `i` and `j` of each pair, and where the rods were when it was built."""

    i: Any
    j: Any
    x: Any
    y: Any
    theta: Any


@inlined
def nearest(delta, box, half_box):
    """`delta` or its shorter image; both ends lie in the box."""
    return delta - (box if delta > half_box else ZERO) + (box if delta < -half_box else ZERO)


@inlined
def contact(rx, ry, ci, si, cj, sj, half, eps):
    """Contact points s, t along the rods and the vector between them (engine/geometry.py)."""
    cross, dot = ci * sj - si * cj, ci * cj + si * sj
    c, f, n = ci * rx + si * ry, cj * rx + sj * ry, cj * ry - sj * rx
    shrink = ONE / (ONE + eps)
    s = (cross * n - eps * c) / (cross * cross + eps * (TWO + eps))
    s = min(max(s, -half), half)
    t = min(max((dot * s + f) * shrink, -half), half)
    s = min(max((dot * t - c) * shrink, -half), half)
    return s, t, rx + s * ci - t * cj, ry + s * si - t * sj


@compiled
def sorted_by_cell(rods, side, k):
    """`rods` in the order of their cells, and where each cell begins."""
    n, w = rods.x.size, F(side) / k.box
    cell, start = np.empty(n, np.uint32), np.zeros(side * side + 1, np.uint32)
    for i in range(n):
        column, row = min(int(rods.x[i] * w), side - 1), min(int(rods.y[i] * w), side - 1)
        cell[i] = row * side + column
        start[cell[i] + 1] += 1
    for c in range(side * side):
        start[c + 1] += start[c]
    free, order = start.copy(), np.empty(n, np.uint32)
    for i in range(n):
        order[free[cell[i]]] = i
        free[cell[i]] += 1
    rods = Rods(
        rods.x[order], rods.y[order], rods.theta[order], rods.activity[order], rods.ident[order]
    )
    return rods, start


@compiled
def build(rods, k):
    """`rods` sorted by cell, and the list of pairs."""
    far = TWO * k.half_length + k.reach + k.skin
    side = int(k.box / far)
    rods, start = sorted_by_cell(rods, side, k)
    x, y, n = rods.x, rods.y, rods.x.size
    c, s = np.cos(rods.theta), np.sin(rods.theta)
    first, second = np.empty(8 * n, np.uint32), np.empty(8 * n, np.uint32)
    count, near = 0, (k.reach + k.skin) ** 2
    for home in range(side * side):
        row, column = home // side, home % side
        for i in range(start[home], start[home + 1]):
            for across in range(9):
                there = (row + across // 3 - 1) % side * side + (column + across % 3 - 1) % side
                for j in range(start[there], start[there + 1]):
                    if j <= i:
                        continue
                    rx = nearest(x[i] - x[j], k.box, k.half_box)
                    ry = nearest(y[i] - y[j], k.box, k.half_box)
                    if rx * rx + ry * ry >= far * far:
                        continue
                    _, _, ex, ey = contact(rx, ry, c[i], s[i], c[j], s[j], k.half_length, SHARP)
                    if ex * ex + ey * ey < near:
                        if count == first.size:
                            first = np.append(first, np.empty_like(first))
                            second = np.append(second, np.empty_like(second))
                        first[count], second[count] = i, j
                        count += 1
    pairs = Pairs(first[:count].copy(), second[:count].copy(), x.copy(), y.copy(), +rods.theta)
    return rods, pairs


@compiled
def outgrown(rods, pairs, k):
    """Whether a tip may have moved by half the skin since the build."""
    limit = HALF * k.skin
    for i in range(rods.x.size):
        dx = nearest(rods.x[i] - pairs.x[i], k.box, k.half_box)
        dy = nearest(rods.y[i] - pairs.y[i], k.box, k.half_box)
        turned = abs(nearest(rods.theta[i] - pairs.theta[i], TURN, PI))
        if math.sqrt(dx * dx + dy * dy) + k.half_length * turned > limit:
            return True
    return False


@compiled
def pair_by_pair(rods, c, s, pairs, k, out):
    """Sums (4, N) of force x, force y, torque and what is sensed, one pair after another."""
    x, y, a = rods.x, rods.y, rods.activity
    contact2, sense2 = k.width * k.width, k.sensing_range * k.sensing_range
    fx, fy, torque, sensed = out[0], out[1], out[2], out[3]
    out[:] = ZERO
    for m in range(pairs.i.size):
        i, j = pairs.i[m], pairs.j[m]
        rx = nearest(x[i] - x[j], k.box, k.half_box)
        ry = nearest(y[i] - y[j], k.box, k.half_box)
        u, t, ex, ey = contact(rx, ry, c[i], s[i], c[j], s[j], k.half_length, k.epsilon)
        squared = ex * ex + ey * ey
        heard = ONE if squared < sense2 else ZERO
        push = k.k_cc * (k.width / math.sqrt(max(squared, TINY)) - ONE)
        push = push if squared < contact2 else ZERO
        gx, gy = push * ex, push * ey
        fx[i] += gx
        fy[i] += gy
        torque[i] += u * (c[i] * gy - s[i] * gx)
        sensed[i] += heard * (k.w_d + k.w_a * a[j])
        fx[j] -= gx
        fy[j] -= gy
        torque[j] -= t * (c[j] * gy - s[j] * gx)
        sensed[j] += heard * (k.w_d + k.w_a * a[i])


@compiled
def block_terms(size, given, k, terms):
    """The terms of `size` pairs whose rods were gathered into rows; LLVM vectorises this loop."""
    contact2, sense2 = k.width * k.width, k.sensing_range * k.sensing_range
    for m in range(size):
        ci, si, cj, sj = given[2, m], given[3, m], given[4, m], given[5, m]
        rx = nearest(given[0, m], k.box, k.half_box)
        ry = nearest(given[1, m], k.box, k.half_box)
        u, t, ex, ey = contact(rx, ry, ci, si, cj, sj, k.half_length, k.epsilon)
        squared = ex * ex + ey * ey
        push = k.k_cc * (k.width / math.sqrt(max(squared, TINY)) - ONE)
        push = push if squared < contact2 else ZERO
        gx, gy = push * ex, push * ey
        terms[0, m], terms[1, m] = gx, gy
        terms[2, m], terms[3, m] = u * (ci * gy - si * gx), t * (cj * gy - sj * gx)
        terms[4, m] = ONE if squared < sense2 else ZERO


@compiled
def in_blocks(rods, c, s, pairs, k, out):
    """The same sums, in blocks of pairs."""
    x, y, a = rods.x, rods.y, rods.activity
    fx, fy, torque, sensed = out[0], out[1], out[2], out[3]
    given, terms = np.empty((6, BLOCK), np.float32), np.empty((5, BLOCK), np.float32)
    out[:] = ZERO
    for begin in range(0, pairs.i.size, BLOCK):
        first, second = pairs.i[begin : begin + BLOCK], pairs.j[begin : begin + BLOCK]
        for m in range(first.size):
            i, j = first[m], second[m]
            given[0, m], given[1, m] = x[i] - x[j], y[i] - y[j]
            given[2, m], given[3, m], given[4, m], given[5, m] = c[i], s[i], c[j], s[j]
        block_terms(first.size, given, k, terms)
        for m in range(first.size):
            i, j = first[m], second[m]
            fx[i] += terms[0, m]
            fy[i] += terms[1, m]
            torque[i] += terms[2, m]
            sensed[i] += terms[4, m] * (k.w_d + k.w_a * a[j])
            fx[j] -= terms[0, m]
            fy[j] -= terms[1, m]
            torque[j] -= terms[3, m]
            sensed[j] += terms[4, m] * (k.w_d + k.w_a * a[i])


@inlined
def wrapped(value, box):
    """`value` in [0, box); it left the box by less than its side."""
    value = value - box if value >= box else value
    value = value + box if value < ZERO else value
    return value if value < box else ZERO


@compiled
def move(rods, c, s, sums, k):
    """One Euler step in place: thrust, motion, activity."""
    for i in range(rods.x.size):
        push = k.thrust * rods.activity[i]
        rods.x[i] = wrapped(rods.x[i] + k.move * (sums[0, i] + push * c[i]), k.box)
        rods.y[i] = wrapped(rods.y[i] + k.move * (sums[1, i] + push * s[i]), k.box)
        rods.theta[i] = nearest(rods.theta[i] + k.turn * sums[2, i], TURN, PI)
        rods.activity[i] = ONE / (ONE + math.exp((k.thresh - sums[3, i]) / k.act_width))


def program(pair_sums):
    """`advance(K, rods, pairs, k, sums)`, compiled around one way to sum."""

    @compiled
    def advance(K, rods, pairs, k, sums):
        rebuilds = 0
        c, s = np.empty_like(rods.x), np.empty_like(rods.x)
        for step in range(K + 1):
            if outgrown(rods, pairs, k):
                rods, pairs = build(rods, k)
                rebuilds += 1
            if step == K:
                break
            for i in range(c.size):
                c[i], s[i] = math.cos(rods.theta[i]), math.sin(rods.theta[i])
            pair_sums(rods, c, s, pairs, k, sums)
            move(rods, c, s, sums, k)
        return rods, pairs, rebuilds

    return advance


class Verlet:
    """The peer."""

    def __init__(self, path: str, pair_sums: Any) -> None:
        pos, theta, activity, p = protocol.load(path)
        reach = max(2 * p.radius, p.sensing_range)
        if p.space_size < 3 * (p.length + reach + SKIN):
            raise SystemExit(f"A box of side {p.space_size:g} is too small for three cells.")
        values = (
            p.space_size, p.space_size / 2, p.length / 2, 2 * p.radius, p.sensing_range,
            0.16 * (2 * p.radius / p.length) ** 2, p.k_cc, p.w_d, p.w_a, p.activity_thresh,
            p.activity_width, p.F_prop / 2, p.dt / (p.gamma * p.length),
            p.dt * 12 / (p.gamma * p.length**3), reach, SKIN,
        )  # fmt: skip
        self.k = Constants(*[F(value) for value in values])
        x, y = np.ascontiguousarray(pos.T)
        ident = np.arange(theta.size, dtype=np.uint32)
        self.rods, self.pairs = build(Rods(x, y, theta, activity, ident), self.k)
        self.sums = np.empty((4, theta.size), np.float32)
        self.pair_sums, self.advance = pair_sums, program(pair_sums)

    def run(self, K: int) -> int:
        """Take K steps; the rebuild that the next step would need is one of them."""
        rods, self.pairs, rebuilds = self.advance(K, self.rods, self.pairs, self.k, self.sums)
        self.rods = rods
        return rebuilds

    def save(self) -> protocol.Saved:
        """The state and its sums, in the order of the file."""
        rods, back = self.rods, np.argsort(self.rods.ident)
        c, s = np.cos(rods.theta), np.sin(rods.theta)
        self.pair_sums(rods, c, s, self.pairs, self.k, self.sums)
        pos, force = np.stack([rods.x, rods.y], axis=1), self.sums[:2].T
        values = (pos, rods.theta, rods.activity, force, self.sums[2], self.sums[3])
        return protocol.Saved(*[value[back] for value in values])


def main() -> None:
    """Serve the peer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("--blocks", action="store_true", help="sum in blocks of pairs")
    chosen = parser.parse_args()
    begin = time.perf_counter()
    peer = Verlet(chosen.state, in_blocks if chosen.blocks else pair_by_pair)
    what = "numba, Verlet list" + (", in blocks that LLVM vectorises" if chosen.blocks else "")
    protocol.serve(peer, what, begin)


if __name__ == "__main__":
    main()
