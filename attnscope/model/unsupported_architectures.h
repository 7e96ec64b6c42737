// Architectures that attnscope cannot run, and why. docs/models.md and error messages name them.
#pragma once

#include <span>
#include <string_view>

namespace attnscope {

struct UnsupportedArchitecture {
  std::string_view model_type;
  std::string_view reason;
};

std::span<const UnsupportedArchitecture> unsupported_architectures();

/// Returns the reason for this model_type; empty if it is not in the list.
std::string_view why_unsupported(std::string_view model_type);

}  // namespace attnscope
