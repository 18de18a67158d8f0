// SPDX-License-Identifier: GPL-3.0-or-later
// What the files for one instruction set and the rest of the native code share: plain data.
//
// The model, its equations and its names are those of docs/model.md and of the JAX kernels beside.
#pragma once

#include <cstdint>

namespace bacsim {

// Rods to a block: the rods of a block walk through their lists side by side, whatever the width of
// the vectors is, so that the layout does not depend on the machine.
constexpr int BLOCK = 16;

// Blocks that one thread takes at a time: some ten microseconds of work.
constexpr int BLOCKS_AT_ONCE = 32;

// Rods that are put in order of the number of their neighbours together: enough that the rods of a
// block have equally many, and so few that all of them lie near in memory.
constexpr int WINDOW = 512;

// The live parameters, in the order of `PARAMS` in library.py, and what `_packed` in
// kernels/native.py derives from them.
struct Params {
  float space_size, length, radius, k_cc, F_prop, T_prop, w_d, w_a, sensing_range, activity_thresh,
      activity_width, tau_a, D_r, D_t, push_x, push_y, push_range, push_force, dt;
  float epsilon, per_drag_along, per_drag_across, per_turning_drag, tumble_chance;
};

// What is at the edge, in the order of the choices in engine/params.py.
enum class Boundary { periodic, walls, circle };

// Which laws the model follows, see `Laws` in engine/params.py; false stands for the first choice.
// That of drag is in the numbers above.
struct Laws {
  bool hertz, falling, noise_of_active, adaptive;
  Boundary boundary;
};

// All that the equations read.
struct Physics : Params {
  Laws laws;

  bool periodic() const { return laws.boundary == Boundary::periodic; }
  // Of the side of the box. 0 within walls: then nothing is ever moved by a side.
  float per_box() const { return periodic() ? 1 / space_size : 0; }
  // Whether a rod may turn by any angle in one step: lists then hold whoever comes into reach however
  // rods turn.
  bool any_turn() const { return tumble_chance > 0; }
};

// Place and direction of a rod, which pairs read together.
struct Place {
  float x, y, cos, sin;
};

// All of the rods that changes in a step, in the order of the list.
struct Rods {
  Place* place;
  float* activity;
  float* theta;
  float *rest_x, *rest_y, *rest_theta;  // what rounding has left, see engine/state.py
};

// The neighbours of each rod: those of block b in used[b] rows of BLOCK, from table + b · slots ·
// BLOCK on. Where a rod has fewer, it stands for itself.
struct List {
  const int32_t* table;
  const int32_t* used;
  int64_t slots;
  const float *x, *y, *theta;  // where rods were when it was built
  float skin;
};

// Room for obstacles, as in engine/obstacle.py.
constexpr int MOST_OBSTACLES = 64, OBSTACLE_NUMBERS = 5;

struct Obstacle {
  float x, y, half_width, half_height, radius;
};

struct Obstacles {
  const Obstacle* all;
  int32_t count;
};

// What the random numbers of a step are made of.
struct Draw {
  const int32_t* id;
  uint32_t seed, step;
};

// What is to be known of some blocks after a step.
struct Outcome {
  bool good;     // every number is finite, and no rod has moved by more than a body width
  bool current;  // no point of a rod has moved by more than half the skin since the list was built
  float largest_move;  // of the fastest tip of any rod; NaN counts as most of all
  int32_t worst;       // that rod, the first of equals
  float speed;         // the sum of all, without noise
};

struct Sums {
  float* force;  // (N, 2)
  float* torque;
  float* local_density;
};

// Rods in the order of the grid, each number in an array of its own, and where to look for the
// neighbours of each: at most six runs of ranks.
struct Sorted {
  const float *x, *y, *cos, *sin;  // (N + BLOCK)
  int32_t count;
};

struct Runs {
  int32_t begin[6], end[6];
  int32_t number;
};

struct Search {
  Physics params;
  float within, skin;
};

// What is compiled for each instruction set.
struct Target {
  const char* name;

  // One step of blocks begin … end - 1, from `from` to `to`. A rod's tip goes no farther than
  // `most_move`. `count` are rods, the rest empty.
  Outcome (*step)(const Physics&, const Rods& from, const Rods& to, const List&, const Draw&,
                  const Obstacles&, float most_move, int32_t count, int64_t begin, int64_t end);

  // Whether no point of a rod has moved by more than half the skin since the list was built.
  bool (*is_current)(const Physics&, const Rods&, const List&, int64_t begin, int64_t end);

  // The sums over all neighbours, without a step.
  void (*sums)(const Physics&, const Rods&, const List&, const Sums&, int64_t begin, int64_t end);

  // Write the neighbours of rod `rank` to found[0], found[BLOCK], …, as far as there is room for
  // `slots`; returns how many there are.
  int32_t (*search)(const Search&, const Sorted&, const Runs&, int32_t rank, int32_t* found,
                    int64_t slots);
};

// The one of that name, for an empty name the best that runs on this machine; null if none does.
const Target* target_named(const char* name);

}  // namespace bacsim
