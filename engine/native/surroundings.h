// SPDX-License-Identifier: GPL-3.0-or-later
// What a rod takes from obstacles and from the hand: engine/surroundings.py, a vector at a time.
#pragma once

#include <initializer_list>

#include "interaction.h"
#include "lanes.h"
#include "model.h"

namespace bacsim {
namespace BACSIM_TARGET {

struct Way {
  Float distance, x, y;
};

inline Float above_zero(Float value) { return maximum(value, Float{}); }

inline Way way_out(Float x, Float y, const Obstacle& wall, const Pair& pair) {
  x = shortest_image(x, pair.box, pair.per_box);
  y = shortest_image(y, pair.box, pair.per_box);
  const Float one = all(1.0f);
  const Float out_x = absolute(x) - wall.half_width, out_y = absolute(y) - wall.half_height;
  const Float most = maximum(out_x, out_y);
  const Int inside = most <= 0.0f;
  const Float near_x = above_zero(out_x), near_y = above_zero(out_y);
  const Float outside = root(near_x * near_x + near_y * near_y);
  const Float per_distance = one / where(inside, one, outside);
  const Float sideways = where(out_x > out_y, one, Float{});
  const Float sign_x = where(x < 0.0f, -one, one), sign_y = where(y < 0.0f, -one, one);
  return {where(inside, most, outside) - wall.radius,
          sign_x * where(inside, sideways, near_x * per_distance),
          sign_y * where(inside, one - sideways, near_y * per_distance)};
}

// Where on its core, from its centre, a rod is touched, and the way out from there.
struct Touch {
  Float s;
  Way way;
};

// How a rod at (x, y) from the centre of an obstacle is touched where its core does not cross the
// rectangle.
inline Touch beside(Float x, Float y, const Four& rod, const Obstacle& wall, const Pair& pair,
                    float bend) {
  const Float half = all(pair.half);
  Float best{}, least = all(__builtin_inff());
  const auto consider = [&](Float s) {
    s = clamp(s, half);
    const Way way = way_out(x + s * rod.c, y + s * rod.d, wall, pair);
    const Float value = way.distance + bend * s * s;
    best = where(value < least, s, best);
    least = minimum(value, least);
  };
  consider(-half), consider(half);
  const float per_bend = 0.5f / bend;
  for (const float side_x : {-1.0f, 1.0f}) {
    consider(side_x * per_bend * rod.c), consider(side_x * per_bend * rod.d);
    for (const float side_y : {-1.0f, 1.0f}) {
      const Float corner_x =
          shortest_image(side_x * wall.half_width - x, pair.box, pair.per_box);
      const Float corner_y =
          shortest_image(side_y * wall.half_height - y, pair.box, pair.per_box);
      consider(corner_x * rod.c + corner_y * rod.d);
    }
  }
  return {best, way_out(x + best * rod.c, y + best * rod.d, wall, pair)};
}

// The same where it crosses the rectangle: out of the side that is nearest to all of it.
inline Touch across(Float x, Float y, const Four& rod, const Obstacle& wall, const Pair& pair,
                    float bend) {
  const Float half = all(pair.half), none{};
  Touch best{none, {all(-__builtin_inff()), none, none}};
  for (const bool sideways : {true, false}) {
    const Float along = sideways ? rod.c : rod.d, across = sideways ? rod.d : rod.c;
    const Float center = sideways ? x : y, beyond = sideways ? y : x;
    const float h = sideways ? wall.half_width : wall.half_height;
    const float other = sideways ? wall.half_height : wall.half_width;
    // The part of the core between the two lines along the sides that it leaves through.
    const Int level = absolute(across) < 1e-6f;
    const Float per_across = 1.0f / where(level, all(1.0f), across);
    const Float one = (-other - beyond) * per_across, two = (other - beyond) * per_across;
    const Float low = where(level, -half, clamp(minimum(one, two), half));
    const Float high = where(level, half, clamp(maximum(one, two), half));
    for (const float side : {-1.0f, 1.0f}) {
      const Float farthest = where(side * along > 0.0f, low, high);
      const Float distance = side * (center + farthest * along) - h - wall.radius;
      const Float s = minimum(maximum(-side * along * (0.5f / bend), low), high);
      const Int nearer = distance > best.way.distance;
      const auto better = [nearer](Float a, Float b) { return where(nearer, a, b); };
      best = {better(s, best.s),
              {better(distance, best.way.distance),
               better(all(sideways ? side : 0.0f), best.way.x),
               better(all(sideways ? 0.0f : side), best.way.y)}};
    }
  }
  return best;
}

inline Int crosses(Float x, Float y, const Four& rod, const Obstacle& wall, const Pair& pair) {
  const Float cos = absolute(rod.c), sin = absolute(rod.d);
  return (absolute(x) < wall.half_width + pair.half * cos) &
         (absolute(y) < wall.half_height + pair.half * sin) &
         (absolute(x * rod.d - y * rod.c) < wall.half_width * sin + wall.half_height * cos);
}

// What a rod takes from obstacles and the hand is added to `total`.
class Surroundings {
 public:
  Surroundings(const Physics& params, const Pair& pair, const Obstacles& obstacles)
      : pair_(pair),
        obstacles_(obstacles),
        reach_(0.5f * params.length + params.radius),
        radius_(params.radius),
        bend_(0.02f * 2 * params.radius / (pair.half * pair.half)),
        hand_x_(params.push_x),
        hand_y_(params.push_y),
        per_range_(1 / params.push_range),
        hand_(4 * params.push_force * per_range_),
        boundary_(params.laws.boundary) {}

  bool any() const { return obstacles_.count || hand_ != 0 || boundary_ != Boundary::periodic; }

  // Empty places are at rest.
  void add(const Four& rod, Int alive, Total& total) const {
    Total push{};
    if (boundary_ == Boundary::walls) add_walls(rod, push);
    if (boundary_ == Boundary::circle)
      for (const float arm : {-pair_.half, pair_.half}) add_round_wall(rod, arm, push);
    if (hand_ != 0) add_hand(rod, push);
    for (int32_t i = 0; i < obstacles_.count; ++i) add_obstacle(rod, obstacles_.all[i], push);
    total.force_x += where(alive, push.force_x, Float{});
    total.force_y += where(alive, push.force_y, Float{});
    total.torque += where(alive, push.torque, Float{});
  }

 private:
  // The force on a rod whose core is so far inside of a wall.
  Float pressed(Float depth) const {
    const Float overlap = minimum(above_zero(radius_ - depth), all(pair_.width));
    const Float push = pair_.k * overlap;
    return pair_.hertz ? push * root_of_overlap(overlap * pair_.per_width) : push;
  }

  // Of four straight walls; see engine/walls.py.
  void add_walls(const Four& rod, Total& total) const {
    const auto pair_of_walls = [this](Float at, Float along, Float& force, Float& turn) {
      const Float s = clamp(-along * (0.5f / bend_), all(pair_.half));
      const Float low = pressed(at + s * along), high = pressed(pair_.box - at + s * along);
      force += low - high;
      turn = s * (low + high);
    };
    Float turn_x, turn_y;
    pair_of_walls(rod.a, rod.c, total.force_x, turn_x);
    pair_of_walls(rod.b, rod.d, total.force_y, turn_y);
    total.torque += turn_y * rod.c - turn_x * rod.d;
  }

  // Of a round wall, on one end of a core.
  void add_round_wall(const Four& rod, float arm, Total& total) const {
    const float middle = 0.5f * pair_.box;
    const Float x = rod.a - middle + arm * rod.c, y = rod.b - middle + arm * rod.d;
    const Float out = root(x * x + y * y);
    const Float inward = pressed(middle - out) / maximum(out, all(1e-20f));
    const Float force_x = -inward * x, force_y = -inward * y;
    total.force_x += force_x;
    total.force_y += force_y;
    total.torque += arm * (rod.c * force_y - rod.d * force_x);
  }

  void add_hand(const Four& rod, Total& total) const {
    const Float x = shortest_image(rod.a - hand_x_, pair_.box, pair_.per_box);
    const Float y = shortest_image(rod.b - hand_y_, pair_.box, pair_.per_box);
    const Float per_length = hand_ * above_zero(1.0f - root(x * x + y * y) * per_range_);
    total.force_x += per_length * x;
    total.force_y += per_length * y;
  }

  void add_obstacle(const Four& rod, Obstacle wall, Total& total) const {
    if (!(2 * wall.half_width < pair_.box)) wall.half_width = 4 * pair_.box;
    if (!(2 * wall.half_height < pair_.box)) wall.half_height = 4 * pair_.box;
    Float x = shortest_image(rod.a - wall.x, pair_.box, pair_.per_box);
    Float y = shortest_image(rod.b - wall.y, pair_.box, pair_.per_box);
    const Float far_x = absolute(x) - (wall.half_width + wall.radius);
    const Float far_y = absolute(y) - (wall.half_height + wall.radius);
    if (!bacsim::BACSIM_TARGET::any(maximum(far_x, far_y) < reach_)) return;
    const Int crossed = crosses(x, y, rod, wall, pair_);
    const Touch in = across(x, y, rod, wall, pair_, bend_);
    const Touch out = beside(x, y, rod, wall, pair_, bend_);
    const auto chosen = [crossed](Float a, Float b) { return where(crossed, a, b); };
    const Float s = chosen(in.s, out.s), distance = chosen(in.way.distance, out.way.distance);
    const Float overlap = minimum(above_zero(radius_ - distance), all(pair_.width));
    Float push = pair_.k * overlap;
    if (pair_.hertz) push *= root_of_overlap(overlap * pair_.per_width);
    const Float force_x = push * chosen(in.way.x, out.way.x);
    const Float force_y = push * chosen(in.way.y, out.way.y);
    total.force_x += force_x;
    total.force_y += force_y;
    total.torque += s * (rod.c * force_y - rod.d * force_x);
  }

  const Pair& pair_;
  const Obstacles& obstacles_;
  float reach_, radius_, bend_, hand_x_, hand_y_, per_range_, hand_;
  Boundary boundary_;
};

}  // namespace BACSIM_TARGET
}  // namespace bacsim
