#include "attnscope/model/layout/layout_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/head_tensors.h"
#include "attnscope/model/tensor_roles.h"

namespace attnscope {
namespace {

class PatternCheck {
 public:
  explicit PatternCheck(const Model& model) : model_(model) {
    for (const CheckpointTensor& tensor : model.checkpoint().tensors())
      names_.push_back(tensor.name);
    for (const auto& [alias, name] : model.checkpoint().aliases()) names_.push_back(alias);
  }

  /// `pattern`: with its prefix.
  void need(const std::string& what, const std::string& pattern) const {
    if (matches(pattern) || lies_elsewhere(pattern)) return;
    throw Error(ErrorKind::format,
                {.file = model_.spec().source,
                 .problem = verbatim(what + " '" + pattern + "' matches no tensor of " +
                                     model_.checkpoint().main_file().string() + hint(pattern))});
  }

 private:
  bool matches(const std::string& pattern) const {
    return std::any_of(names_.begin(), names_.end(), [&](std::string_view name) {
      return match_pattern(pattern, name).has_value();
    });
  }

  /// Whether the index puts such a tensor into a file that lacks it or is not there.
  bool lies_elsewhere(const std::string& pattern) const {
    std::string stem = pattern;
    if (stem.ends_with(".*")) stem.replace(stem.size() - 1, 1, "weight");
    for (std::int64_t layer = 0; layer < model_.dimensions().layers; ++layer) {
      const std::string name = fill_pattern(stem, layer_numbers(model_.dimensions(), layer));
      if (!model_.checkpoint().missing_note(name).empty()) return true;
    }
    return false;
  }

  /// The name of layer 0 that was probably meant.
  std::string hint(const std::string& pattern) const {
    const std::string first = fill_pattern(pattern, layer_numbers(model_.dimensions(), 0));
    const auto near = closest(first, names_);
    return near ? " (the nearest name is '" + *near + "')" : "";
  }

  const Model& model_;
  std::vector<std::string> names_;
};

/// Names with a mark for each head are those of one tensor by now; norms' are not.
std::string head_as_any(std::string pattern) {
  for (auto at = pattern.find(kHeadMark); at != std::string::npos; at = pattern.find(kHeadMark)) {
    pattern.replace(at, kHeadMark.size(), "*");
  }
  return pattern;
}

}  // namespace

void refuse_unmatched_patterns(const Model& model) {
  const PatternCheck check(model);
  const Architecture& architecture = model.spec().architecture;
  const std::string& prefix = model.prefix();
  for (const WeightRule& rule : architecture.weights) {
    const std::string what = "the tensor of '" + std::string(role_name(rule.role)) + "'";
    check.need(what, prefix + head_as_any(rule.tensor));
  }
  const HeadRule& head = architecture.head;
  if (!architecture.embedding.tokens.empty()) {
    const bool is_head = model.spec().tied && model.checkpoint().find_first(head.weight) != nullptr;
    if (!is_head) check.need("'embedding'", prefix + architecture.embedding.tokens);
  }
  for (const TensorRule& site : sites_of(architecture, /*with_optional=*/false)) {
    check.need("the " + site.role, prefix + head_as_any(site.tensor));
  }
  if (!model.spec().tied && !head.weight.empty())
    check.need("the output head", head.weight.front());
  if (!head.dense.empty()) check.need("the 'dense' of 'head'", head.dense);
  if (!head.norm.empty()) check.need("the 'norm' of 'head'", head.norm + ".*");
  if (head.needs_bias) check.need("the 'bias' of 'head'", head.bias.front());
}

std::int64_t last_layer_of_files(const Model& model) {
  std::int64_t last = model.dimensions().layers - 1;
  for (const WeightRule& rule : model.spec().architecture.weights) {
    const std::string pattern = model.prefix() + head_as_any(rule.tensor);
    for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
      const auto match = match_pattern(pattern, tensor.name);
      if (match) last = std::max(last, match->layer.value_or(0));
    }
  }
  return last;
}

}  // namespace attnscope
