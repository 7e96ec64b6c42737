// The architectures of which layout files are made, fitted to the tensors of a checkpoint.
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
  /// Keys of the config, of each list one, whose value no name tells; the first is the name that
  /// `architecture` reads, the others are the names that other models give it.
  std::vector<std::vector<std::string>> needed;
  std::vector<std::string> doubts;  // what the tensors leave open
};

/// That with which layer 0 begins in the files; none where no template has such names.
std::optional<OfferTemplate> fitting_template(const Checkpoint& checkpoint);

}  // namespace attnscope
