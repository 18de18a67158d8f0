// SPDX-License-Identifier: GPL-3.0-or-later
#include "grid.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bacsim {
namespace {

// The whole number below `value`, or the farthest from 0 that is allowed; NaN is very low.
int32_t whole(float value, int32_t farthest) {
  const auto most = static_cast<float>(farthest);
  return static_cast<int32_t>(std::max(-most, std::min(std::floor(value), most)));
}

}  // namespace

Grid::Grid(float reach, float space_size, int64_t rods) : reach_(reach) {
  const int64_t most = 2 * rods;
  const auto most_rows = static_cast<int32_t>(std::sqrt(static_cast<double>(most)));
  rows_ = std::clamp(whole(space_size / reach, most_rows), 1, most_rows);
  columns_ = static_cast<int32_t>(most / rows_);
  rows_per_length_ = rows_ / space_size;
  columns_per_length_ = columns_ / space_size;
}

int32_t Grid::row(float y) const {
  return std::clamp(whole(y * rows_per_length_, rows_), 0, rows_ - 1);
}

int32_t Grid::column(float x) const { return whole(x * columns_per_length_, 4 * columns_); }

void Grid::sort(const Place* places, int32_t count, std::vector<int32_t>& order) {
  std::vector<int32_t> cell(count);
  start_.assign(static_cast<size_t>(rows_) * columns_ + 1, 0);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t along = std::clamp(column(places[i].x), 0, columns_ - 1);
    cell[i] = row(places[i].y) * columns_ + along;
    ++start_[cell[i] + 1];
  }
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  std::vector<int32_t> next(start_.begin(), start_.end() - 1);
  std::iota(order.begin(), order.end(), 0);
  for (int32_t i = 0; i < count; ++i) order[next[cell[i]]++] = i;
}

Runs Grid::near(float x, float y) const {
  Runs runs{};
  const auto add = [&runs](int32_t begin, int32_t end) {
    if (begin >= end) return;
    runs.begin[runs.number] = begin;
    runs.end[runs.number++] = end;
  };
  const int32_t first = column(x - reach_), last = column(x + reach_), own = row(y);
  // Of no place in the box; whoever has left it, if only as NaN, must not lead out of the arrays.
  const bool outside = first <= -columns_ || first >= columns_ || last < 0 || last >= 2 * columns_;
  for (int32_t k = 0; k < std::min(3, rows_); ++k) {
    const int32_t* row = &start_[static_cast<size_t>((own + rows_ - 1 + k) % rows_) * columns_];
    if (last - first + 1 >= columns_ || outside) {
      add(row[0], row[columns_]);
    } else if (first < 0) {
      add(row[first + columns_], row[columns_]);
      add(row[0], row[last + 1]);
    } else if (last >= columns_) {
      add(row[first], row[columns_]);
      add(row[0], row[last - columns_ + 1]);
    } else {
      add(row[first], row[last + 1]);
    }
  }
  return runs;
}

}  // namespace bacsim
