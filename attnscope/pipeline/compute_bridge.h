// A bridge, to be taken away once every work item is given its Compute: until then the command sets
// the kernels, a work queue the team of its threads, and items ask here.
#pragma once

#include "attnscope/numerics/compute.h"

namespace attnscope {

inline Kernels& bridge_kernels() {
  static Kernels kernels;
  return kernels;
}

inline Team*& bridge_team() {
  thread_local Team* team = nullptr;
  return team;
}

inline Compute bridge_compute() { return {.kernels = bridge_kernels(), .team = bridge_team()}; }

}  // namespace attnscope
