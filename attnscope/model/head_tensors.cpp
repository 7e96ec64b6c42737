#include "attnscope/model/head_tensors.h"

#include <algorithm>
#include <set>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/tensor_names.h"
#include "attnscope/tensor/rearranged.h"

namespace attnscope {
namespace {

bool is_per_head(const WeightRule& rule) {
  return rule.tensor.find(kHeadMark) != std::string::npos;
}

class HeadJoiner {
 public:
  HeadJoiner(const Checkpoint& checkpoint, const ModelSpec& spec)
      : checkpoint_(checkpoint), spec_(spec) {}

  void join_projection(const WeightRule& rule, const std::string& prefix, std::int64_t layer) {
    const LayerNumbers numbers = layer_numbers(spec_.dimensions, layer);
    const std::string name = prefix + fill_pattern(rule.tensor, numbers);
    const std::int64_t heads = spec_.dimensions_of(layer).heads.count(rule.role);
    refuse_more(name, heads, layer);
    const std::vector<const CheckpointTensor*> stored = stored_of(name, heads);
    if (stored.empty()) return;
    add(name, stored, joined_matrix(stored, rule, layer));
    const std::vector<std::string> biases =
        rule.bias.empty() ? bias_names(name)
                          : std::vector{prefix + fill_pattern(rule.bias, numbers)};
    // The output bias is added once, however the heads are stored.
    if (rule.role == Role::output) return;
    for (const std::string& bias : biases) {
      const std::vector<const CheckpointTensor*> parts = stored_of(bias, heads);
      if (!parts.empty()) add(bias, parts, joined_bias(parts, rule.role, layer));
    }
  }

  std::vector<CheckpointTensor> tensors() const {
    std::vector<CheckpointTensor> out;
    for (const CheckpointTensor& tensor : checkpoint_.tensors()) {
      if (!taken_.contains(tensor.name)) out.push_back(tensor);
    }
    out.insert(out.end(), joined_.begin(), joined_.end());
    return out;
  }

 private:
  void add(const std::string& name, const std::vector<const CheckpointTensor*>& parts,
           TensorView view) {
    for (const CheckpointTensor* part : parts) taken_.insert(part->name);
    // The joined tensor is (outputs, inputs), whatever the order of its parts.
    joined_.push_back(
        {.name = name, .view = std::move(view), .file = parts.front()->file, .is_linear = true});
  }

  /// The tensors of all heads; none if one of them is missing.
  std::vector<const CheckpointTensor*> stored_of(const std::string& name,
                                                 std::int64_t heads) const {
    std::vector<const CheckpointTensor*> stored;
    for (std::int64_t head = 0; head < heads; ++head) {
      stored.push_back(checkpoint_.find(name_of_head(name, head)));
      if (stored.back() == nullptr) return {};
    }
    return stored;
  }

  void refuse_more(const std::string& name, std::int64_t heads, std::int64_t layer) const {
    const std::string next = name_of_head(name, heads);
    if (next == name || checkpoint_.find(next) == nullptr) return;
    refuse(ErrorKind::format, *checkpoint_.find(next), layer,
           "is the tensor of head " + std::to_string(heads) + ", but " + spec_.source +
               " specifies " + counted(heads, "head"));
  }

  [[noreturn]] void refuse(ErrorKind kind, const CheckpointTensor& tensor, std::int64_t layer,
                           const std::string& problem, const std::string& hint = "") const {
    ErrorParts parts = checkpoint_.parts_of(tensor, verbatim(problem), hint);
    parts.layer = layer;
    throw Error(kind, std::move(parts));
  }

  /// Every part must have the shape expected of the first one, with one or two axes.
  void check(const std::vector<const CheckpointTensor*>& stored, const Shape& shape,
             std::int64_t layer) const {
    for (const CheckpointTensor* part : stored) {
      const Shape& found = part->view.shape;
      if (found != shape) {
        const bool transposed = found == Shape(shape.rbegin(), shape.rend());
        refuse(ErrorKind::format, *part, layer,
               "shape " + shape_text(found) + ", expected " + shape_text(shape) + " (from " +
                   spec_.source + ", per head)",
               transposed
                   ? "it is stored transposed: use the other \"storage\" in its entry of 'weights'"
                   : "");
      }
      if (part->view.dtype == DType::f64 || !part->view.strides.empty()) {
        refuse(ErrorKind::unsupported, *part, layer,
               "one tensor per head requires row-major tensors of at most 32 bits per element");
      }
    }
  }

  TensorView joined_matrix(const std::vector<const CheckpointTensor*>& stored,
                           const WeightRule& rule, std::int64_t layer) const {
    const Dimensions& dimensions = spec_.dimensions_of(layer);
    const auto [rows, cols] = canonical_shape(dimensions, rule.role);
    const bool is_output = rule.role == Role::output;
    const auto heads = static_cast<std::int64_t>(stored.size());
    Shape own = is_output ? Shape{rows, cols / heads} : Shape{rows / heads, cols};
    const bool in_by_out = rule.storage == Storage::in_by_out;
    if (in_by_out) std::swap(own[0], own[1]);
    check(stored, own, layer);
    std::vector<RowPart> parts;
    // Heads are rows of Q, K and V, and columns of O, so O is joined as its transpose.
    for (const CheckpointTensor* part : stored)
      parts.push_back({part->view, in_by_out != is_output});
    const TensorView joined = one_after_another(std::move(parts));
    return is_output ? transposed(joined) : joined;
  }

  TensorView joined_bias(const std::vector<const CheckpointTensor*>& stored, Role role,
                         std::int64_t layer) const {
    check(stored, {spec_.dimensions_of(layer).heads.inner_dim(role)}, layer);
    std::vector<RowPart> parts;
    for (const CheckpointTensor* part : stored) {
      TensorView row = part->view;
      row.shape.insert(row.shape.begin(), 1);
      parts.push_back({std::move(row), /*turned=*/true});
    }
    TensorView joined = transposed(one_after_another(std::move(parts)));
    joined.shape.erase(joined.shape.begin());
    return joined;
  }

  const Checkpoint& checkpoint_;
  const ModelSpec& spec_;
  std::set<std::string> taken_;
  std::vector<CheckpointTensor> joined_;
};

}  // namespace

std::string name_of_head(const std::string& name, std::int64_t head) {
  std::string out = name;
  const std::string number = std::to_string(head);
  for (auto at = out.find(kHeadMark); at != std::string::npos; at = out.find(kHeadMark, at)) {
    out.replace(at, kHeadMark.size(), number);
  }
  return out;
}

bool has_head_tensors(const Architecture& architecture) {
  return std::any_of(architecture.weights.begin(), architecture.weights.end(), is_per_head);
}

std::vector<CheckpointTensor> with_heads_joined(const Checkpoint& checkpoint,
                                                const ModelSpec& spec) {
  HeadJoiner joiner(checkpoint, spec);
  for (const WeightRule& rule : spec.architecture.weights) {
    if (!is_per_head(rule)) continue;
    for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
      for (const std::string& prefix : spec.architecture.prefixes) {
        joiner.join_projection(rule, prefix, layer);
      }
    }
  }
  return joiner.tensors();
}

}  // namespace attnscope
