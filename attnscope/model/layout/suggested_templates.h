// The architectures for which layout files are suggested, adapted to the tensors of a checkpoint.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/architecture.h"

namespace attnscope {

struct OfferTemplate {
  std::string like;
  Architecture architecture;
  /// Config keys whose value no tensor name reveals, as lists of alternative names. The first name
  /// in a list is the one that `architecture` reads; the others are used by other models.
  std::vector<std::vector<std::string>> needed;
  std::vector<std::string> doubts;  // what the tensors do not determine
};

/// Returns the template whose names match the tensors of layer 0; none if no template matches.
std::optional<OfferTemplate> fitting_template(const Checkpoint& checkpoint);

}  // namespace attnscope
