// SPDX-License-Identifier: GPL-3.0-or-later
// A batch of steps on the arrays of a `State` (engine/state.py), which stay those of JAX.
#pragma once

#include <cstdint>

#include "crew.h"
#include "model.h"

namespace bacsim {

// The arrays of a `State` and its neighbour list, in the order of their fields.
struct State {
  float *pos, *theta, *direction, *activity, *rest;
  int32_t *id, *row;
  int32_t* n;
  uint32_t *step, *seed;
  float* obstacles;
  int32_t* obstacle_count;
  float* elapsed;
  int32_t *table, *used;
  float *list_pos, *list_theta, *made_for, *skin;
  int32_t *age, *builds;
  float* mean;
  int32_t *most, *candidates;

  int64_t size;   // places for rods, a multiple of BLOCK
  int64_t slots;  // room for the neighbours of a rod
};

// What a batch tells besides the state; see `Batch` in engine/step.py.
struct Result {
  int32_t done;
  bool ok, fits;
  float largest_move;
  int32_t worst;
  float speed;
};

// Take K steps, or as many as can be trusted.
Result advance(const Target& target, const Physics& params, const State& state, int32_t K,
               float most_move, int64_t threads);

// Build a new list; false where it does not fit, with the rods as they were and no list that could
// be used. Then `most` tells how many slots would do.
bool build(const Target& target, const Physics& params, const State& state, int64_t threads);

// The sums over the listed neighbours of rods in the order of the list.
void sum_up(const Target& target, const Physics& params, const State& state, const float* x,
            const float* y, const float* cos, const float* sin, float* activity, int64_t threads,
            const Sums& sums);

}  // namespace bacsim
