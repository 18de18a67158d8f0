// SPDX-License-Identifier: GPL-3.0-or-later
// One time step, a block of rods at a time: engine/step.py, compiled once for each instruction set.
//
// Sums and motion of a block are one pass, which reads the rods at time t and writes those at
// t + dt to other arrays: no array of forces, and a step that must be refused has changed nothing.

#include "functions.h"
#include "interaction.h"
#include "lanes.h"
#include "model.h"
#include "surroundings.h"

namespace bacsim {
namespace BACSIM_TARGET {
namespace {

constexpr float PI = 3.14159265f;

// `WIDTH` places that follow each other.
Four places(const Place* from) {
  int32_t at[WIDTH];
  store(at, counting());
  return gather_four(&from->x, at);
}

// The sums of WIDTH rods of one block, whose neighbours begin at `table`.
template <bool by_activity, bool hertz>
Total sums_of(const Pair& pair, const Rods& rods, const Four& main, const int32_t* table,
              int32_t used, int64_t first) {
  const Int itself = counting() + (int32_t)first;
  Total total{};
  for (int32_t slot = 0; slot < used; ++slot, table += BLOCK) {
    const Int at = load<Int>(table);
    const Four neighb = gather_four(&rods.place->x, table);
    const Float activity = by_activity ? gather(rods.activity, at) : Float{};
    add_pair<by_activity, hertz>(pair, main, neighb, activity, at == itself, total);
  }
  return total;
}

Total sums_of(const Pair& pair, const Rods& rods, const Four& main, const List& list,
              int64_t first) {
  const int64_t block = first / BLOCK;
  const int32_t* table = list.table + block * list.slots * BLOCK + first % BLOCK;
  const int32_t used = list.used[block];
  if (pair.hertz)
    return pair.w_a != 0 ? sums_of<true, true>(pair, rods, main, table, used, first)
                         : sums_of<false, true>(pair, rods, main, table, used, first);
  return pair.w_a != 0 ? sums_of<true, false>(pair, rods, main, table, used, first)
                       : sums_of<false, false>(pair, rods, main, table, used, first);
}

// Constants of the motion.
struct Motion {
  float half, thrust, torque, per_drag, more_along, per_turning_drag, dt, most_move, width, box;
  float thresh, per_width, memory, shift, twist, tumble;
  bool hard, falling, noisy, diffuses, tumbles, of_active, limited;

  Motion(const Physics& p, float most)
      : half(0.5f * p.length),
        thrust(0.5f * p.F_prop),
        torque(p.T_prop),
        per_drag(p.per_drag_across),
        more_along(p.per_drag_along - p.per_drag_across),
        per_turning_drag(p.per_turning_drag),
        dt(p.dt),
        most_move(most),
        width(2 * p.radius),
        box(p.space_size),
        thresh(p.activity_thresh),
        per_width(p.activity_width > 0 ? 1 / p.activity_width : 0),
        memory(p.tau_a > 0 ? __builtin_expf(-p.dt / p.tau_a) : 0),
        shift(__builtin_sqrtf(2 * p.D_t * p.dt)),
        twist(__builtin_sqrtf(2 * p.D_r * p.dt)),
        tumble(p.tumble_chance),
        hard(!(p.activity_width > 0)),
        falling(p.laws.falling),
        noisy(p.D_r > 0 || p.D_t > 0 || p.tumble_chance > 0),
        diffuses(p.D_r > 0 || p.D_t > 0),
        tumbles(p.tumble_chance > 0),
        of_active(p.laws.noise_of_active),
        limited(most < __builtin_inff()) {}
};

// Random displacements and turn of some rods, and the angle of those that tumble, from (seed, step,
// id) alone: engine/noise.py.
struct Noise {
  Float x, y, turn, heading;
  Int tumbles;
};

Noise noise_of(const Motion& motion, const Draw& draw, Float activity, Int alive, int64_t first) {
  Noise noise{};
  if (!motion.noisy) return noise;
  const Word id = load<Word>(draw.id + first);
  const Random key = threefry(all(draw.seed), all(draw.step), Word{}, id);
  const auto word = [&key](uint32_t which) {
    const Random bits = threefry(key.first, key.second, Word{}, all(which));
    return bits.first ^ bits.second;
  };
  if (motion.diffuses) {
    const Float share = motion.of_active ? root(activity) : all(1.0f);
    const auto number = [&](uint32_t which) {
      return where(alive, normal(word(which)), Float{}) * share;
    };
    noise.x = motion.shift * number(0), noise.y = motion.shift * number(1);
    noise.turn = motion.twist * number(2);
  }
  if (motion.tumbles) {
    Float chance = all(motion.tumble);
    if (motion.of_active) chance *= activity;
    // Of 31 bits: float32 would round the chances of rare tumbles. The number is the largest below.
    const Int level = to_int(minimum(chance * 2147483648.0f, all(2147483520.0f)));
    noise.tumbles = alive & (bits_of<Int>(word(3) >> 1) < level);
    const Float turns = to_float(bits_of<Int>(word(4) >> 8)) * 5.9604644775390625e-8f - 0.5f;
    noise.heading = turns * (2 * PI);
  }
  return noise;
}

Float activity_after(const Motion& motion, Float before, Float sensed) {
  const Float excess = sensed - motion.thresh;
  const Float one = all(1.0f);
  // Above the threshold, or below; how steep, with its sign.
  const Int beyond = motion.falling ? excess < 0.0f : excess >= 0.0f;
  const float steep = motion.falling ? motion.per_width : -motion.per_width;
  const Float target = motion.hard ? where(beyond, one, Float{})
                                   : one / (one + exponential(excess * steep));
  return target + (before - target) * motion.memory;
}

// A coordinate after one step, folded into the box, and what rounding has left of it.
struct Moved {
  Float to, rest;
};

Moved moved(Float now, Float by, Float rest, const Motion& motion) {
  const Float wanted = by + rest;
  const Float there = now + wanted;
  Float left = wanted - (there - now);
  // A product with the reciprocal may be 1 for a place just inside, which would then be moved.
  const Float shift = motion.box * floor_of(there / motion.box);
  const Float wrapped = there - shift;
  left += there - (wrapped + shift);
  const Int outside = (wrapped < 0.0f) | (wrapped >= motion.box);
  return {where(outside, Float{}, wrapped), left};
}

// Puts the centres of rods that would be beyond a wall back to it.
void hold(const Physics& params, Float* x, Float* y) {
  const float middle = 0.5f * params.space_size, last = params.space_size * 0.99999994f;
  if (params.laws.boundary == Boundary::circle) {
    const Float away_x = *x - middle, away_y = *y - middle;
    const Float out = root(away_x * away_x + away_y * away_y);
    const Float by = middle / out;
    *x = where(out > middle, middle + away_x * by, *x);
    *y = where(out > middle, middle + away_y * by, *y);
  }
  const auto within = [last](Float at) {
    return where(at < 0.0f, Float{}, where(at > last, all(last), at));
  };
  *x = within(*x), *y = within(*y);
}

// A coordinate after one step, before a wall holds it.
Moved gone(Float now, Float by, Float rest) {
  const Float wanted = by + rest;
  const Float there = now + wanted;
  return {there, wanted - (there - now)};
}

Moved turned(Float now, Float by, Float rest) {
  const Float wanted = by + rest;
  const Float there = now + wanted;
  const Float left = wanted - (there - now);
  return {there - (2 * PI) * nearest(there * (0.5f / PI)), left};
}

bool finite(Float value) { return !any(value - value != 0.0f); }

// Whether no point of rods at (x, y, theta) has moved by more than half the skin.
bool still_listed(const Physics& params, const List& list, Float x, Float y, Float theta,
                  int64_t first) {
  const float box = params.space_size, per_box = params.per_box();
  const Float dx = x - load<Float>(list.x + first), dy = y - load<Float>(list.y + first);
  const Float mx = dx - box * nearest(dx * per_box), my = dy - box * nearest(dy * per_box);
  const Float turn = theta - load<Float>(list.theta + first);
  const Float by = absolute(turn - (2 * PI) * nearest(turn * (0.5f / PI)));
  // What the turn has left of half the skin; a comparison of squares spares a root.
  const float tip = params.any_turn() ? 0.0f : 0.5f * params.length;
  const Float left = 0.5f * list.skin - tip * by;
  return !any(~((left >= 0.0f) & (mx * mx + my * my <= left * left)));
}

// What is to be known of a step, lane by lane: the largest move so far and whose, and speeds.
struct Tally {
  Float largest, speed;
  Int worst;

  void add(Float move, Float by, int64_t first) {
    const Float size = where(move == move, move, all(__builtin_inff()));
    const Int more = size > largest;
    largest = where(more, size, largest);
    worst = more ? counting() + (int32_t)first : worst;
    speed += by;
  }

  void reduce_to(Outcome& outcome) const {
    outcome.largest_move = largest[0], outcome.worst = worst[0], outcome.speed = speed[0];
    for (int lane = 1; lane < WIDTH; ++lane) {
      const bool equal = largest[lane] == outcome.largest_move;
      if (largest[lane] > outcome.largest_move || (equal && worst[lane] < outcome.worst))
        outcome.largest_move = largest[lane], outcome.worst = worst[lane];
      outcome.speed += speed[lane];
    }
  }
};

// One step of WIDTH rods.
void step_of(const Physics& params, const Pair& pair, const Motion& motion,
             const Surroundings& surroundings, const Rods& from, const Rods& to, const List& list,
             const Draw& draw, int32_t count, int64_t first, Outcome& outcome, Tally& tally) {
  const Four at = places(from.place + first);
  const Int alive = counting() + (int32_t)first < count;
  Total sums = sums_of(pair, from, at, list, first);
  if (surroundings.any()) surroundings.add(at, alive, sums);
  const Float before = load<Float>(from.activity + first);
  const Float thrust = motion.thrust * before;
  const Float fx = sums.force_x + thrust * at.c, fy = sums.force_y + thrust * at.d;
  Float vx = fx * motion.per_drag, vy = fy * motion.per_drag;
  if (motion.more_along != 0) {
    const Float along = (fx * at.c + fy * at.d) * motion.more_along;
    vx += along * at.c, vy += along * at.d;
  }
  Float angular = (sums.torque + motion.torque * before) * motion.per_turning_drag;
  Float speed = root(vx * vx + vy * vy);
  Float move = (speed + motion.half * absolute(angular)) * motion.dt;
  if (motion.limited) {
    const Float share = minimum(motion.most_move / maximum(move, all(1e-30f)), all(1.0f));
    vx *= share, vy *= share, angular *= share, speed *= share, move *= share;
  }

  const Noise noise = noise_of(motion, draw, before, alive, first);
  const Float by_x = vx * motion.dt + noise.x, by_y = vy * motion.dt + noise.y;
  const Float rest_x = load<Float>(from.rest_x + first), rest_y = load<Float>(from.rest_y + first);
  Moved x, y;
  if (params.periodic()) {
    x = moved(at.a, by_x, rest_x, motion), y = moved(at.b, by_y, rest_y, motion);
  } else {
    x = gone(at.a, by_x, rest_x), y = gone(at.b, by_y, rest_y);
    Float held_x = x.to, held_y = y.to;
    hold(params, &held_x, &held_y);
    held_x = where(alive, held_x, x.to), held_y = where(alive, held_y, y.to);
    x = {held_x, where(held_x == x.to, x.rest, Float{})};
    y = {held_y, where(held_y == y.to, y.rest, Float{})};
  }
  Moved theta = turned(load<Float>(from.theta + first), angular * motion.dt + noise.turn,
                       load<Float>(from.rest_theta + first));
  if (motion.tumbles)
    theta = {where(noise.tumbles, noise.heading, theta.to),
             where(noise.tumbles, Float{}, theta.rest)};
  const Direction direction = direction_of(theta.to);
  const Float after = where(alive, activity_after(motion, before, sums.sensed), Float{});

  store_four(&to.place[first].x, {x.to, y.to, direction.cos, direction.sin});
  store(to.activity + first, after);
  store(to.theta + first, theta.to);
  store(to.rest_x + first, x.rest);
  store(to.rest_y + first, y.rest);
  store(to.rest_theta + first, theta.rest);
  tally.add(move, speed, first);
  // NaN fails the comparison, as it must. Noise is no part of `move`.
  outcome.good &= !any(~(move <= motion.width)) && finite(x.to) && finite(y.to) &&
                  finite(theta.to) && finite(after);
  outcome.current &= still_listed(params, list, x.to, y.to, theta.to, first);
}

Outcome step(const Physics& params, const Rods& from, const Rods& to, const List& list,
             const Draw& draw, const Obstacles& obstacles, float most_move, int32_t count,
             int64_t begin, int64_t end) {
  const Pair pair(params);
  const Motion motion(params, most_move);
  const Surroundings surroundings(params, pair, obstacles);
  Outcome outcome{true, true, 0, 0, 0};
  Tally tally{all(-1.0f), Float{}, Int{}};
  for (int64_t first = begin * BLOCK; first < end * BLOCK; first += WIDTH)
    step_of(params, pair, motion, surroundings, from, to, list, draw, count, first, outcome,
            tally);
  tally.reduce_to(outcome);
  return outcome;
}

bool is_current(const Physics& params, const Rods& rods, const List& list, int64_t begin,
                int64_t end) {
  bool current = true;
  for (int64_t first = begin * BLOCK; first < end * BLOCK; first += WIDTH) {
    const Four at = places(rods.place + first);
    current &= still_listed(params, list, at.a, at.b, load<Float>(rods.theta + first), first);
  }
  return current;
}

void sums(const Physics& params, const Rods& rods, const List& list, const Sums& out, int64_t begin,
          int64_t end) {
  const Pair pair(params);
  for (int64_t first = begin * BLOCK; first < end * BLOCK; first += WIDTH) {
    const Total total = sums_of(pair, rods, places(rods.place + first), list, first);
    for (int lane = 0; lane < WIDTH; ++lane) {
      out.force[2 * (first + lane)] = total.force_x[lane];
      out.force[2 * (first + lane) + 1] = total.force_y[lane];
    }
    store(out.torque + first, total.torque);
    store(out.local_density + first, total.sensed);
  }
}

// Whether the cores of a rod and its candidates are nearer than `within`, or soon may be: a pair
// near the place where its shortest image changes counts too, as in neighbour_search.py. Where rods
// may turn by any angle their centres decide.
Int near(const Search& search, const Pair& pair, const Four& main, const Four& neighb) {
  const Float rx = shortest_image(main.a - neighb.a, pair.box, pair.per_box);
  const Float ry = shortest_image(main.b - neighb.b, pair.box, pair.per_box);
  const float flip = search.params.periodic() ? 0.5f * pair.box - search.skin : __builtin_inff();
  float within = search.within;
  Float x = rx, y = ry;
  if (search.params.any_turn()) {
    within += 2 * pair.half;
  } else {
    const Contact at = contact_of(pair, rx, ry, main, neighb);
    x = at.x, y = at.y;
  }
  return (x * x + y * y < within * within) |
         (maximum(absolute(rx), absolute(ry)) > flip);
}

int32_t search(const Search& search, const Sorted& rods, const Runs& runs, int32_t rank,
               int32_t* found, int64_t slots) {
  const Pair pair(search.params);
  const Four main{all(rods.x[rank]), all(rods.y[rank]), all(rods.cos[rank]), all(rods.sin[rank])};
  int32_t number = 0;
  for (int run = 0; run < runs.number; ++run) {
    const int32_t end = runs.end[run];
    for (int32_t at = runs.begin[run]; at < end; at += WIDTH) {
      const Four neighb{load<Float>(rods.x + at), load<Float>(rods.y + at),
                        load<Float>(rods.cos + at), load<Float>(rods.sin + at)};
      const Int index = counting() + at;
      const Int listed = near(search, pair, main, neighb) & (index < end) & (index != rank);
      for (uint32_t bits = one_bit_a_lane(listed); bits; bits &= bits - 1) {
        if (number < slots) found[(int64_t)number * BLOCK] = at + __builtin_ctz(bits);
        ++number;
      }
    }
  }
  return number;
}

}  // namespace

extern const Target target;
const Target target = {BACSIM_TARGET_NAME, step, is_current, sums, search};

}  // namespace BACSIM_TARGET
}  // namespace bacsim
