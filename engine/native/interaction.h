// SPDX-License-Identifier: GPL-3.0-or-later
// What a rod takes from another: engine/interaction.py and engine/geometry.py, a vector at a time.
#pragma once

#include "lanes.h"
#include "model.h"

namespace bacsim {
namespace BACSIM_TARGET {

// Constants of a pair; `per_box` is 0 where there are walls. Plain numbers: the compiler keeps the vectors of them in registers.
struct Pair {
  float box, per_box, half, epsilon, epsilon_square, shrink, width, width_squared, per_width, k,
      range_squared, w_d, w_a;
  bool hertz;

  explicit Pair(const Physics& p)
      : box(p.space_size),
        per_box(p.per_box()),
        half(0.5f * p.length),
        epsilon(p.epsilon),
        epsilon_square(p.epsilon * (2 + p.epsilon)),
        shrink(1 / (1 + p.epsilon)),
        width(2 * p.radius),
        width_squared(width * width),
        per_width(1 / width),
        k(p.k_cc),
        range_squared(p.sensing_range * p.sensing_range),
        w_d(p.w_d),
        w_a(p.w_a),
        hertz(p.laws.hertz) {}
};

// Signed distance of the contact point from the main rod's centre along it, and the vector from the
// neighbour's point to it.
struct Contact {
  Float s, x, y;
};

inline Float shortest_image(Float delta, float box, float per_box) {
  return delta - box * nearest_of_small(delta * per_box);
}

// The points that minimise |r + s û - t v̂|² + ε(s² + t²); r is main - neighbour, its shortest image.
inline Contact contact_of(const Pair& pair, Float rx, Float ry, const Four& main,
                          const Four& neighb) {
  const Float half = all(pair.half);
  const Float cross = main.c * neighb.d - main.d * neighb.c;
  const Float dot = main.c * neighb.c + main.d * neighb.d;
  const Float along_main = main.c * rx + main.d * ry;
  const Float along_neighb = neighb.c * rx + neighb.d * ry;
  const Float across_neighb = neighb.c * ry - neighb.d * rx;
  Float s = (cross * across_neighb - pair.epsilon * along_main) /
            (cross * cross + pair.epsilon_square);
  s = clamp(s, half);
  const Float t = clamp((dot * s + along_neighb) * pair.shrink, half);
  s = clamp((dot * t - along_main) * pair.shrink, half);
  return {s, rx + s * main.c - t * neighb.c, ry + s * main.d - t * neighb.d};
}

// √(δ/2R), by which a contact after Hertz is softer than one after Hooke; 0 without overlap.
inline Float root_of_overlap(Float share) { return root(maximum(share, Float{})); }

// Sums over neighbours: force, torque and what is sensed.
struct Total {
  Float force_x, force_y, torque, sensed;
};

// What the rods `main` take from the rods `neighb` is added to `total`; `activity` is the
// neighbours' and matters only where `by_activity`. A rod takes nothing from itself.
template <bool by_activity, bool hertz>
inline void add_pair(const Pair& pair, const Four& main, const Four& neighb, Float activity,
                     Int same, Total& total) {
  const Float rx = shortest_image(main.a - neighb.a, pair.box, pair.per_box);
  const Float ry = shortest_image(main.b - neighb.b, pair.box, pair.per_box);
  const Contact at = contact_of(pair, rx, ry, main, neighb);
  const Float squared = where(same, all(__builtin_inff()), at.x * at.x + at.y * at.y);
  // Coincident contact points have no normal; the floor makes their force 0, not NaN.
  const Float per_distance = inverse_root(maximum(squared, all(1e-20f)));
  Float pressed = pair.k * (pair.width * per_distance - 1.0f);
  if (hertz) pressed *= root_of_overlap(1.0f - squared * per_distance * pair.per_width);
  const Float push = where(squared < pair.width_squared, pressed, Float{});
  const Float force_x = push * at.x, force_y = push * at.y;
  total.force_x += force_x;
  total.force_y += force_y;
  total.torque += at.s * (main.c * force_y - main.d * force_x);
  const Float weight = by_activity ? pair.w_d + pair.w_a * activity : all(pair.w_d);
  total.sensed += where(squared < pair.range_squared, weight, Float{});
}

}  // namespace BACSIM_TARGET
}  // namespace bacsim
