#pragma once
#include "attnscope/numerics/parts.h"
namespace attnscope {
class Team {
 public:
  void lend(const std::function<bool()>& done) { lend_thread(done); }
  void recall() { recall_lent_threads(); }
};
}
