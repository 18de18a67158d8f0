// SPDX-License-Identifier: GPL-3.0-or-later
#include "workspace.h"

#include <algorithm>

namespace bacsim {
namespace {

constexpr int NUMBERS = 9;  // of a rod in one copy: four of its place, and five more

void permute(int32_t* values, const std::vector<int32_t>& order) {
  const std::vector<int32_t> old(values, values + order.size());
  for (size_t i = 0; i < order.size(); ++i) values[i] = old[order[i]];
}

}  // namespace

Workspace::Workspace(const State& state)
    : state_(state), memory_(new float[(2 * NUMBERS + 3) * state.size]) {
  const int64_t size = state.size;
  float* from = memory_.get();
  const auto array = [&from, size] { return std::exchange(from, from + size); };
  for (Rods& rods : copies_) {
    rods.place = reinterpret_cast<Place*>(std::exchange(from, from + 4 * size));
    rods.activity = array(), rods.theta = array();
    rods.rest_x = array(), rods.rest_y = array(), rods.rest_theta = array();
  }
  list_x_ = array(), list_y_ = array(), list_theta_ = array();

  const Rods& rods = now();
  for (int64_t i = 0; i < size; ++i) {
    rods.place[i] = {state.pos[2 * i], state.pos[2 * i + 1], state.direction[2 * i],
                     state.direction[2 * i + 1]};
    rods.rest_x[i] = state.rest[3 * i];
    rods.rest_y[i] = state.rest[3 * i + 1];
    rods.rest_theta[i] = state.rest[3 * i + 2];
    list_x_[i] = state.list_pos[2 * i];
    list_y_[i] = state.list_pos[2 * i + 1];
  }
  std::copy_n(state.activity, size, rods.activity);
  std::copy_n(state.theta, size, rods.theta);
  std::copy_n(state.list_theta, size, list_theta_);
}

List Workspace::list() const {
  return {state_.table, state_.used, state_.slots, list_x_, list_y_, list_theta_, *state_.skin};
}

void Workspace::list_is_built_here() {
  for (int64_t i = 0; i < state_.size; ++i) {
    list_x_[i] = now().place[i].x;
    list_y_[i] = now().place[i].y;
  }
  std::copy_n(now().theta, state_.size, list_theta_);
}

void Workspace::reorder(const std::vector<int32_t>& order) {
  const Rods &from = now(), &to = next();
  for (int64_t i = 0; i < state_.size; ++i) {
    const int32_t old = order[i];
    to.place[i] = from.place[old];
    to.activity[i] = from.activity[old];
    to.theta[i] = from.theta[old];
    to.rest_x[i] = from.rest_x[old];
    to.rest_y[i] = from.rest_y[old];
    to.rest_theta[i] = from.rest_theta[old];
  }
  turn();
  permute(state_.id, order);
  permute(state_.row, order);
}

void Workspace::save() const {
  const Rods& rods = now();
  for (int64_t i = 0; i < state_.size; ++i) {
    const Place& place = rods.place[i];
    state_.pos[2 * i] = place.x, state_.pos[2 * i + 1] = place.y;
    state_.direction[2 * i] = place.cos, state_.direction[2 * i + 1] = place.sin;
    state_.rest[3 * i] = rods.rest_x[i];
    state_.rest[3 * i + 1] = rods.rest_y[i];
    state_.rest[3 * i + 2] = rods.rest_theta[i];
    state_.list_pos[2 * i] = list_x_[i], state_.list_pos[2 * i + 1] = list_y_[i];
  }
  std::copy_n(rods.activity, state_.size, state_.activity);
  std::copy_n(rods.theta, state_.size, state_.theta);
  std::copy_n(list_theta_, state_.size, state_.list_theta);
}

}  // namespace bacsim
