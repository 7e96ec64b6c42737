// The tensors of a checkpoint, from which each method takes the parts of its weights.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// What a method makes of a weight's parts.
struct ComposedWeight {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::shared_ptr<const ValueSource> source;
  std::string stored_as;
  bool is_linear = true;  // (outputs, inputs), whatever the architecture's own files hold
};

class WeightParts {
 public:
  /// Both must outlive it. `config` is config.json's quantization_config, null where there is none;
  /// `config_file` is the file that holds it.
  WeightParts(const Checkpoint& checkpoint, const nlohmann::json& config, std::string config_file)
      : checkpoint_(checkpoint), config_(config), config_file_(std::move(config_file)) {}

  const std::vector<CheckpointTensor>& tensors() const { return checkpoint_.tensors(); }

  /// Null where there is none.
  const CheckpointTensor* find(const std::string& name) const { return checkpoint_.find(name); }

  /// Whether all are there. Where the index puts one in a file that is not there, the weight is
  /// left out, as others of that file are; else throws Error(format) that names the first.
  bool has_all(const CheckpointTensor& main, std::initializer_list<std::string> names);

  /// Whether the index puts that tensor in a file that is not there.
  bool is_elsewhere(const std::string& name) const;
  void leave_out(const CheckpointTensor& tensor) { taken_.insert(&tensor); }

  /// Throws Error(format) where the tensor has another shape, or a dtype that is not among these.
  void check(const CheckpointTensor& tensor, std::initializer_list<DType> dtypes,
             const Shape& shape) const;
  void check_dtype(const CheckpointTensor& tensor, std::initializer_list<DType> dtypes) const;
  void check_axes(const CheckpointTensor& tensor, std::size_t axes) const;

  /// The bytes of a small tensor that is looked at now.
  std::span<const std::byte> bytes(const CheckpointTensor& tensor) const;

  ErrorParts place_of(const CheckpointTensor& tensor) const {
    return checkpoint_.parts_of(tensor, "");
  }

  [[noreturn]] void refuse(const CheckpointTensor& tensor, const std::string& problem) const;
  [[noreturn]] void refuse_unread(const CheckpointTensor& tensor, const std::string& problem) const;
  [[noreturn]] void refuse_config(const std::string& problem) const;

  /// Fields of the configuration; nothing where it is absent or null. Throws Error(format) where it
  /// is of another type.
  std::optional<std::int64_t> number(std::string_view key) const;
  std::string text(std::string_view key) const;
  const nlohmann::json& config() const { return config_; }

  /// The weight takes the place of its parts; `parts.front()` says which file it is of.
  void add(ComposedWeight weight, std::initializer_list<const CheckpointTensor*> parts);

  /// The checkpoint's tensors without the parts, with the weights.
  std::vector<CheckpointTensor> take() &&;

 private:
  struct Added {
    const CheckpointTensor* place;
    CheckpointTensor tensor;
  };

  const Checkpoint& checkpoint_;
  const nlohmann::json& config_;
  std::string config_file_;
  std::vector<Added> added_;
  std::set<const CheckpointTensor*> taken_;
};

/// `name` without its ending; nothing where it has another.
std::optional<std::string> without_ending(std::string_view name, std::string_view ending);

/// How many blocks of `each` cover `size`.
inline std::int64_t blocks_of(std::int64_t size, std::int64_t each) {
  return size / each + (size % each == 0 ? 0 : 1);
}

}  // namespace attnscope
