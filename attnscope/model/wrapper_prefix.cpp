#include "attnscope/model/wrapper_prefix.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {
namespace {

constexpr int kMaxModules = 8;  // modules around a model

bool is_projection_name(const ModelSpec& spec, std::string_view name) {
  const Architecture& architecture = spec.architecture;
  for (const std::string& prefix : architecture.prefixes) {
    if (!name.starts_with(prefix)) continue;
    const std::string_view rest = name.substr(prefix.size());
    for (const WeightRule& rule : architecture.weights) {
      if (match_pattern(rule.tensor, rest)) return true;
    }
  }
  return false;
}

/// Returns the shortest text in front of the name, up to a dot, after which it is described.
std::string_view prefix_in(std::string_view name, std::span<const ModelSpec> specs) {
  std::size_t end = 0;
  for (int modules = 0; modules < kMaxModules; ++modules) {
    end = name.find('.', end);
    if (end == std::string_view::npos) return {};
    ++end;
    const bool described = std::any_of(specs.begin(), specs.end(), [&](const ModelSpec& spec) {
      return is_projection_name(spec, name.substr(end));
    });
    if (described) return name.substr(0, end);
  }
  return {};
}

}  // namespace

bool has_projections(const Checkpoint& checkpoint, const ModelSpec& spec) {
  const auto& tensors = checkpoint.tensors();
  return std::any_of(tensors.begin(), tensors.end(), [&](const CheckpointTensor& tensor) {
    return is_projection_name(spec, tensor.name);
  });
}

std::string wrapper_prefix(const Checkpoint& checkpoint, std::span<const ModelSpec> specs) {
  for (const ModelSpec& spec : specs) {
    if (has_projections(checkpoint, spec)) return "";
  }
  std::set<std::string_view> found;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const std::string_view prefix = prefix_in(tensor.name, specs);
    if (!prefix.empty()) found.insert(prefix);
  }
  if (found.size() > 1) {
    const std::vector<std::string> names(found.begin(), found.end());
    throw Error(
        ErrorKind::format,
        {.file = checkpoint.main_file().string(),
         .problem = verbatim("contains several models, whose names begin with " + join(names)),
         .hint = "save the state_dict() of one of them"});
  }
  return found.empty() ? "" : std::string(*found.begin());
}

}  // namespace attnscope
