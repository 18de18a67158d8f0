// SPDX-License-Identifier: GPL-3.0-or-later
// The rods of a batch in arrays of their own, twice: a step reads one copy and writes the other.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "batch.h"
#include "crew.h"
#include "model.h"

namespace bacsim {

class Workspace {
 public:
  Workspace(const State& state, Crew& crew);

  const Rods& now() const { return copies_[0]; }
  const Rods& next() const { return copies_[1]; }
  // What was written to `next` is now.
  void turn() { std::swap(copies_[0], copies_[1]); }

  List list() const;

  // Put rods, ids and rows in `order`, the rod at order[i] to i, and remember where rods are as where
  // the list of `state` was built.
  void reorder_for_list(const std::vector<int32_t>& order);

  // No rod is near where the list of `state` was built.
  void lose_list();

  // Write all back to the state.
  void save() const;

 private:
  void load(int64_t begin, int64_t end);

  const State& state_;
  Crew& crew_;
  std::unique_ptr<float[]> memory_;
  Rods copies_[2];
  float *list_x_, *list_y_, *list_theta_;
};

}  // namespace bacsim
