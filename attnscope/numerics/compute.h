#pragma once
#include <stop_token>
#include "attnscope/numerics/team.h"
#include "attnscope/core/error.h"
namespace attnscope {
struct Kernels {};
struct Compute {
  Kernels kernels = {};
  Team* team = nullptr;
  std::stop_token stop = {};
  void check_stop() const { if (stop.stop_requested()) throw Stopped(); }
};
}  // namespace attnscope
