// A plan as `attnscope plan` wrote it, perhaps edited by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/smaller/choice.h"

namespace attnscope {

struct PlanFile {
  std::vector<Choice> choices;  // one, or several that combine, each of what the one before left
  double ridge = 0.01;
  double mean_nll_before = 0, mean_nll_after = 0;
  std::string tokens_hash, held_out_hash, model_hash;
  std::string stack;  // of a model that has several
  // How the text was cut into windows:
  std::int64_t sequences = 0, length = 0;
  std::optional<std::int64_t> sample;
  bool own_held_out = false;  // measured on a file of its own, not on the end of the text
  std::string method;
};

/// Throws Error(format) that names the field at fault, Error(usage) for a menu, which chooses
/// nothing.
PlanFile read_plan(std::string_view text, std::string_view place);

}  // namespace attnscope
