// SPDX-License-Identifier: GPL-3.0-or-later
// Building the neighbour list, as engine/kernels/neighbour_search.py does it.
#pragma once

#include "batch.h"
#include "crew.h"
#include "model.h"
#include "workspace.h"

namespace bacsim {

// The distance of cores beyond which rods neither touch nor sense each other.
float cutoff(const Physics& params);

// That of what a list looks at: of centres, where rods may turn by any angle.
float made_for(const Physics& params);

// Put rods in a new order with a new list; false where that has too few slots. Then the rods are as
// they were, `most` is new, and the old list is lost: it is no longer current anywhere.
bool build_list(const Target& target, const Physics& params, const State& state,
                Workspace& workspace, Crew& crew);

}  // namespace bacsim
