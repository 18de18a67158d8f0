// SPDX-License-Identifier: GPL-3.0-or-later
#include "build.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "grid.h"

namespace bacsim {
namespace {

// As in neighbour_search.py: as good as no regularisation of the distance of two cores.
constexpr float SEARCH_EPSILON = 1e-7f;

// What building the list costs for each rod, in listed pairs of one step (docs/performance.md), and
// the limits of the skin in body widths; see engine/kernels/skin.py.
constexpr float BUILD_COST = 60;
constexpr float THINNEST_SKIN = 0.05f, THICKEST_SKIN = 2.0f;

constexpr float PI = 3.14159265f;

// The skin of the list that follows, half way in ratio to the best for what the old one saw.
float next_skin(const Physics& params, const State& state) {
  const float old = *state.skin, distance = cutoff(params) + old, length = params.length;
  const bool ended = state.made_for[0] == made_for(params) && state.made_for[1] == length &&
                     state.made_for[2] == params.space_size && *state.age > 0;
  const float move = old / (2 * static_cast<float>(std::max(*state.age, 1)));
  const float density = *state.n / (params.space_size * params.space_size);
  const float area = 2 * length * length / PI + 4 * length * distance + PI * distance * distance;
  const float crowding = *state.mean / std::max(density * area, 1e-6f);
  const float slope = crowding * density * (4 * length + 2 * PI * distance);
  const float best = std::sqrt(2 * move * BUILD_COST / std::max(slope, 1e-6f));
  const float width = 2 * params.radius;
  const float skin =
      std::clamp(std::sqrt(old * best), THINNEST_SKIN * width, THICKEST_SKIN * width);
  return ended && std::isfinite(skin) ? skin : old;
}

// Rods in the order of the grid, with room for a vector beyond the last.
class InOrder {
 public:
  InOrder(const Place* places, const std::vector<int32_t>& order, Crew& crew)
      : room_(order.size() + BLOCK), memory_(new float[4 * room_]) {
    crew.run_ranges(order.size(), [&](int64_t begin, int64_t end) {
      for (int64_t rank = begin; rank < end; ++rank) {
        const Place& place = places[order[rank]];
        x()[rank] = place.x, y()[rank] = place.y, cos()[rank] = place.cos, sin()[rank] = place.sin;
      }
    });
    for (int number = 0; number < 4; ++number)
      std::fill_n(x() + number * room_ + order.size(), BLOCK, 0.0f);
  }

  float* x() const { return memory_.get(); }
  float* y() const { return x() + room_; }
  float* cos() const { return y() + room_; }
  float* sin() const { return cos() + room_; }

 private:
  size_t room_;
  std::unique_ptr<float[]> memory_;
};

// The table while it is made, a window of rods at a time.
class Table {
 public:
  Table(const State& state, int32_t count) : state_(state), count_(count), found_(state.size) {
    place_.resize(state.size);
    by_count_.resize(state.size);
  }

  int64_t windows() const { return (state_.size + WINDOW - 1) / WINDOW; }
  // Rods (by rank) in their order of this list, and how many neighbours each has.
  const std::vector<int32_t>& by_count() const { return by_count_; }
  const std::vector<int32_t>& found() const { return found_; }

  // Find the neighbours of the rods of a window, and put these in order of falling number.
  void search(const Target& target, const Search& what, const InOrder& rods, const Grid& grid,
              int64_t window) {
    const auto [begin, end] = range(window);
    const Sorted sorted{rods.x(), rods.y(), rods.cos(), rods.sin(), count_};
    for (int32_t rank = begin; rank < std::min(end, count_); ++rank)
      found_[rank] = target.search(what, sorted, grid.near(rods.x()[rank], rods.y()[rank]), rank,
                                   of(rank), state_.slots);
    std::iota(&by_count_[begin], &by_count_[begin] + (end - begin), begin);
    std::stable_sort(&by_count_[begin], &by_count_[begin] + (end - begin),
                     [this](int32_t a, int32_t b) { return found_[a] > found_[b]; });
    for (int32_t at = begin; at < end; ++at) place_[by_count_[at]] = at;
  }

  // Put the rows of a window in their new order, with the new places of the neighbours.
  void reorder(int64_t window) {
    const auto [begin, end] = range(window);
    const int32_t most = *std::max_element(&found_[begin], &found_[begin] + (end - begin));
    std::vector<int32_t> rows(static_cast<size_t>(end - begin) * most);
    for (int32_t rank = begin; rank < end; ++rank)
      for (int32_t slot = 0; slot < found_[rank]; ++slot)
        rows[static_cast<size_t>(rank - begin) * most + slot] =
            place_[of(rank)[static_cast<int64_t>(slot) * BLOCK]];
    for (int32_t first = begin; first < end; first += BLOCK) {
      const int32_t used = found_[by_count_[first]];
      state_.used[first / BLOCK] = used;
      for (int32_t lane = 0; lane < BLOCK; ++lane) {
        const int32_t rank = by_count_[first + lane];
        const int32_t* row = rows.data() + static_cast<size_t>(rank - begin) * most;
        int32_t* to = of(first + lane);
        for (int32_t slot = 0; slot < used; ++slot)
          to[static_cast<int64_t>(slot) * BLOCK] = slot < found_[rank] ? row[slot] : first + lane;
      }
    }
  }

 private:
  std::array<int32_t, 2> range(int64_t window) const {
    const int64_t begin = window * WINDOW;
    return {static_cast<int32_t>(begin),
            static_cast<int32_t>(std::min(begin + WINDOW, state_.size))};
  }

  int32_t* of(int32_t rod) const {
    return state_.table + rod / BLOCK * state_.slots * BLOCK + rod % BLOCK;
  }

  const State& state_;
  int32_t count_;
  std::vector<int32_t> found_, place_, by_count_;
};

}  // namespace

float cutoff(const Physics& params) { return std::max(2 * params.radius, params.sensing_range); }

float made_for(const Physics& params) {
  return cutoff(params) + (params.any_turn() ? params.length : 0.0f);
}

bool build_list(const Target& target, const Physics& params, const State& state,
                Workspace& workspace, Crew& crew) {
  const float skin = next_skin(params, state);
  // Half a step in the last place of a position and what SEARCH_EPSILON adds to a distance.
  const float within =
      cutoff(params) + skin + 1e-6f * params.space_size + 5e-4f * params.length;
  Search what{params, within, skin};
  what.params.epsilon = SEARCH_EPSILON;

  Grid grid(params.length + within, params.space_size, state.size);
  std::vector<int32_t> order(state.size);
  grid.sort(workspace.now().place, *state.n, order);
  const InOrder rods(workspace.now().place, order, crew);
  Table table(state, *state.n);
  crew.run(table.windows(), [&](int64_t window) { table.search(target, what, rods, grid, window); });

  const std::vector<int32_t>& found = table.found();
  *state.most = *std::max_element(found.begin(), found.end());
  *state.candidates = 0;  // there is room for any number of them
  if (*state.most > state.slots) {
    workspace.lose_list();  // the search has written over it
    return false;
  }
  crew.run(table.windows(), [&](int64_t window) { table.reorder(window); });

  std::vector<int32_t> whole(order.size());
  for (size_t at = 0; at < whole.size(); ++at) whole[at] = order[table.by_count()[at]];
  workspace.reorder_for_list(whole);
  const int64_t total = std::accumulate(found.begin(), found.end(), int64_t{0});
  *state.mean = static_cast<float>(total) / static_cast<float>(std::max(*state.n, 1));
  *state.skin = skin;
  *state.age = 0;
  *state.builds += 1;
  state.made_for[0] = made_for(params);
  state.made_for[1] = params.length;
  state.made_for[2] = params.space_size;
  return true;
}

}  // namespace bacsim
