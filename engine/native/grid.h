// SPDX-License-Identifier: GPL-3.0-or-later
// A grid of fine cells, as in engine/kernels/cells.py: rows as high as the search reaches, narrow
// cells along them, so that what is near a rod are runs of ranks in three rows.
#pragma once

#include <cstdint>
#include <vector>

#include "model.h"

namespace bacsim {

class Grid {
 public:
  // Rows at least `reach` high, and about two cells for each of `rods`.
  Grid(float reach, float space_size, int64_t rods);

  // Put the first `count` places in the order of the cells: `order[rank]` is the rod of that rank.
  // Rods of a cell keep their order, and places beyond `count` stay where they are.
  void sort(const Place* places, int32_t count, std::vector<int32_t>& order);

  // The runs of ranks that hold every rod nearer than `reach`.
  Runs near(float x, float y) const;

 private:
  int32_t row(float y) const;
  int32_t column(float x) const;

  float reach_, rows_per_length_, columns_per_length_;
  int32_t rows_, columns_;
  std::vector<int32_t> start_;
};

}  // namespace bacsim
