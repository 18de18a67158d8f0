// SPDX-License-Identifier: GPL-3.0-or-later
#include "batch.h"

#include <algorithm>
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

bool is_current(const Target& target, const Params& params, const State& state,
                const Workspace& workspace, Crew& crew) {
  if (state.made_for[0] != cutoff(params) || state.made_for[1] != params.length ||
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

// The rod that moved most, the first of equals; NaN counts as most of all.
void find_worst(const std::vector<float>& moves, Result& result) {
  const auto size = [](float move) {
    return move == move ? move : std::numeric_limits<float>::infinity();
  };
  const auto worst = std::max_element(
      moves.begin(), moves.end(), [&size](float a, float b) { return size(a) < size(b); });
  result.worst = static_cast<int32_t>(worst - moves.begin());
  result.largest_move = *worst;
}

}  // namespace

Result advance(const Target& target, const Params& params, const State& state, int32_t K,
               float most_move, int64_t threads, float* speed) {
  Result result{0, true, true, 0.0f, 0};
  Crew crew(helpful(state, threads));
  Workspace workspace(state);
  std::vector<float> moves(state.size);
  std::vector<Outcome> outcomes(parts_of(state));
  bool current = is_current(target, params, state, workspace, crew);
  while (result.done < K) {
    if (!current && !build_list(target, params, state, workspace, crew)) {
      result.fits = false;
      break;
    }
    const Draw draw{state.id, *state.seed, *state.step};
    const List list = workspace.list();
    crew.run(parts_of(state), [&](int64_t part) {
      const Blocks blocks(state, part);
      outcomes[part] = target.step(params, workspace.now(), workspace.next(), list, draw, most_move,
                                   *state.n, moves.data(), blocks.begin, blocks.end);
    });
    result.ok = std::all_of(outcomes.begin(), outcomes.end(), [](Outcome o) { return o.good; });
    if (!result.ok) break;
    current = std::all_of(outcomes.begin(), outcomes.end(), [](Outcome o) { return o.current; });
    workspace.turn();
    ++result.done;
    ++*state.step;
    ++*state.age;
  }
  find_worst(moves, result);
  workspace.save();
  std::copy_n(workspace.now().speed, state.size, speed);
  return result;
}

bool build(const Target& target, const Params& params, const State& state, int64_t threads) {
  Crew crew(helpful(state, threads));
  Workspace workspace(state);
  if (!build_list(target, params, state, workspace, crew)) return false;
  workspace.save();
  return true;
}

void sum_up(const Target& target, const Params& params, const State& state, const float* x,
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
