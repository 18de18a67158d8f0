// SPDX-License-Identifier: GPL-3.0-or-later
#include "batch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "build.h"
#include "workspace.h"

namespace bacsim {
namespace {

int64_t parts_of(const State& state) {
  return (state.size / BLOCK + BLOCKS_AT_ONCE - 1) / BLOCKS_AT_ONCE;
}

// The blocks of a part: from the first up to, but not with, the second.
struct Blocks {
  int64_t begin, end;

  Blocks(const State& state, int64_t part)
      : begin(part * BLOCKS_AT_ONCE),
        end(std::min(begin + BLOCKS_AT_ONCE, state.size / BLOCK)) {}
};

// No more threads than have parts enough to be worth their start.
int64_t helpful(const State& state, int64_t threads) {
  return std::clamp<int64_t>(parts_of(state) / 2, 1, std::max<int64_t>(threads, 1));
}

bool is_current(const Target& target, const Physics& params, const State& state,
                const Workspace& workspace, Crew& crew) {
  if (state.made_for[0] != made_for(params) || state.made_for[1] != params.length ||
      state.made_for[2] != params.space_size)
    return false;
  std::vector<char> current(parts_of(state));
  crew.run(parts_of(state), [&](int64_t part) {
    const Blocks blocks(state, part);
    current[part] = target.is_current(params, workspace.now(), workspace.list(), blocks.begin,
                                      blocks.end);
  });
  return std::all_of(current.begin(), current.end(), [](char c) { return c; });
}

// What all parts of a step come to, in their order.
Outcome together(const std::vector<Outcome>& parts) {
  Outcome all = parts[0];
  for (size_t part = 1; part < parts.size(); ++part) {
    const Outcome& next = parts[part];
    all.good &= next.good;
    all.current &= next.current;
    all.speed += next.speed;
    if (next.largest_move > all.largest_move)
      all.largest_move = next.largest_move, all.worst = next.worst;
  }
  return all;
}

// The share of a body width that a tip may advance in a step of adaptive length, as in step.py.
constexpr float ADAPTIVE_MOVE = 0.1f;

// dt, or less where a tip would go farther; NaN stays NaN.
float step_length(const Physics& params, float largest_move) {
  const float share = ADAPTIVE_MOVE * 2 * params.radius / std::max(1e-30f, largest_move);
  return params.dt * (share > 1 ? 1 : share);
}

// The probability within a share of a step of what has the given one within all of it.
float chance_within(float share, float chance) {
  return -std::expm1(std::log1p(-chance) * share);
}

// The sum of steps and what rounding left of it, one step later.
void later(float* elapsed, float dt) {
  const float add = dt + elapsed[1], total = elapsed[0] + add;
  elapsed[1] = add - (total - elapsed[0]);
  elapsed[0] = total;
}

}  // namespace

Result advance(const Target& target, const Physics& params, const State& state, int32_t K,
               float most_move, int64_t threads) {
  Result result{0, true, true, 0.0f, 0, 0.0f};
  Crew crew(helpful(state, threads));
  Workspace workspace(state, crew);
  std::vector<Outcome> outcomes(parts_of(state));
  bool current = is_current(target, params, state, workspace, crew);
  Physics now = params;
  while (result.done < K) {
    if (!current && !build_list(target, params, state, workspace, crew)) {
      result.fits = false;
      break;
    }
    const Draw draw{state.id, *state.seed, *state.step};
    const Obstacles obstacles{reinterpret_cast<const Obstacle*>(state.obstacles),
                              *state.obstacle_count};
    const List list = workspace.list();
    const auto step = [&] {
      crew.run(parts_of(state), [&](int64_t part) {
        const Blocks blocks(state, part);
        outcomes[part] = target.step(now, workspace.now(), workspace.next(), list, draw, obstacles,
                                     most_move, *state.n, blocks.begin, blocks.end);
      });
      return together(outcomes);
    };
    now.dt = params.dt, now.tumble_chance = params.tumble_chance;
    Outcome outcome = step();
    if (params.laws.adaptive) {
      now.dt = step_length(params, outcome.largest_move);
      // How fast rods are does not depend on the length of the step: once more is enough.
      if (now.dt != params.dt) {
        now.tumble_chance = chance_within(now.dt / params.dt, params.tumble_chance);
        outcome = step();
      }
    }
    result.ok = outcome.good;
    result.largest_move = outcome.largest_move, result.worst = outcome.worst;
    if (!result.ok) break;
    current = outcome.current;
    result.speed = outcome.speed;
    workspace.turn();
    ++result.done;
    ++*state.step;
    if (params.laws.adaptive) later(state.elapsed, now.dt);
    *state.age += *state.age < std::numeric_limits<int32_t>::max();
  }
  workspace.save();
  return result;
}

bool build(const Target& target, const Physics& params, const State& state, int64_t threads) {
  Crew crew(helpful(state, threads));
  Workspace workspace(state, crew);
  const bool fits = build_list(target, params, state, workspace, crew);
  workspace.save();
  return fits;
}

void sum_up(const Target& target, const Physics& params, const State& state, const float* x,
            const float* y, const float* cos, const float* sin, float* activity, int64_t threads,
            const Sums& sums) {
  std::vector<Place> places(state.size);
  for (int64_t i = 0; i < state.size; ++i) places[i] = {x[i], y[i], cos[i], sin[i]};
  Rods rods{};
  rods.place = places.data();
  rods.activity = activity;
  List list{};
  list.table = state.table, list.used = state.used, list.slots = state.slots;
  Crew crew(helpful(state, threads));
  crew.run(parts_of(state), [&](int64_t part) {
    const Blocks blocks(state, part);
    target.sums(params, rods, list, sums, blocks.begin, blocks.end);
  });
}

}  // namespace bacsim
