// SPDX-License-Identifier: GPL-3.0-or-later
#include "workspace.h"

#include <algorithm>
#include <limits>

namespace bacsim {
namespace {

constexpr int NUMBERS = 9;  // of a rod in one copy: four of its place, and five more

}  // namespace

Workspace::Workspace(const State& state, Crew& crew)
    : state_(state), crew_(crew), memory_(new float[(2 * NUMBERS + 3) * state.size]) {
  const int64_t size = state.size;
  float* from = memory_.get();
  const auto array = [&from, size] { return std::exchange(from, from + size); };
  for (Rods& rods : copies_) {
    rods.place = reinterpret_cast<Place*>(std::exchange(from, from + 4 * size));
    rods.activity = array(), rods.theta = array();
    rods.rest_x = array(), rods.rest_y = array(), rods.rest_theta = array();
  }
  list_x_ = array(), list_y_ = array(), list_theta_ = array();
  crew.run_ranges(size, [this](int64_t begin, int64_t end) { load(begin, end); });
}

void Workspace::load(int64_t begin, int64_t end) {
  const Rods& rods = now();
  for (int64_t i = begin; i < end; ++i) {
    rods.place[i] = {state_.pos[2 * i], state_.pos[2 * i + 1], state_.direction[2 * i],
                     state_.direction[2 * i + 1]};
    rods.activity[i] = state_.activity[i];
    rods.theta[i] = state_.theta[i];
    rods.rest_x[i] = state_.rest[3 * i];
    rods.rest_y[i] = state_.rest[3 * i + 1];
    rods.rest_theta[i] = state_.rest[3 * i + 2];
    list_x_[i] = state_.list_pos[2 * i];
    list_y_[i] = state_.list_pos[2 * i + 1];
    list_theta_[i] = state_.list_theta[i];
  }
}

List Workspace::list() const {
  return {state_.table, state_.used, state_.slots, list_x_, list_y_, list_theta_, *state_.skin};
}

void Workspace::reorder_for_list(const std::vector<int32_t>& order) {
  const Rods &from = now(), &to = next();
  const std::vector<int32_t> id(state_.id, state_.id + state_.size);
  const std::vector<int32_t> row(state_.row, state_.row + state_.size);
  crew_.run_ranges(state_.size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int32_t old = order[i];
      to.place[i] = from.place[old];
      to.activity[i] = from.activity[old];
      to.theta[i] = from.theta[old];
      to.rest_x[i] = from.rest_x[old];
      to.rest_y[i] = from.rest_y[old];
      to.rest_theta[i] = from.rest_theta[old];
      state_.id[i] = id[old];
      state_.row[i] = row[old];
      list_x_[i] = to.place[i].x;
      list_y_[i] = to.place[i].y;
      list_theta_[i] = to.theta[i];
    }
  });
  turn();
}

void Workspace::lose_list() {
  std::fill_n(list_x_, state_.size, std::numeric_limits<float>::quiet_NaN());
}

void Workspace::save() const {
  const Rods& rods = now();
  crew_.run_ranges(state_.size, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Place& place = rods.place[i];
      state_.pos[2 * i] = place.x, state_.pos[2 * i + 1] = place.y;
      state_.direction[2 * i] = place.cos, state_.direction[2 * i + 1] = place.sin;
      state_.activity[i] = rods.activity[i];
      state_.theta[i] = rods.theta[i];
      state_.rest[3 * i] = rods.rest_x[i];
      state_.rest[3 * i + 1] = rods.rest_y[i];
      state_.rest[3 * i + 2] = rods.rest_theta[i];
      state_.list_pos[2 * i] = list_x_[i], state_.list_pos[2 * i + 1] = list_y_[i];
      state_.list_theta[i] = list_theta_[i];
    }
  });
}

}  // namespace bacsim
