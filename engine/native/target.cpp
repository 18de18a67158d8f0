// SPDX-License-Identifier: GPL-3.0-or-later
// Which of the instruction sets that were compiled serves this machine best.
#include <cstring>

#include "model.h"

namespace bacsim {

#if defined(BACSIM_X86)
namespace avx512 {
extern const Target target;
}
namespace avx2 {
extern const Target target;
}
#endif
namespace plain {
extern const Target target;
}

namespace {

// The best first.
struct Choice {
  const Target* target;
  bool runs_here;
};

const Choice* choices(int& number) {
  static const Choice all[] = {
#if defined(BACSIM_X86)
      {&avx512::target, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")},
      {&avx2::target, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
      {&plain::target, true},
  };
  number = sizeof all / sizeof *all;
  return all;
}

}  // namespace

const Target* target_named(const char* name) {
  int number;
  const Choice* all = choices(number);
  for (int i = 0; i < number; ++i)
    if (all[i].runs_here && (!*name || !std::strcmp(all[i].target->name, name)))
      return all[i].target;
  return nullptr;
}

}  // namespace bacsim
