// The tensors of a checkpoint, from which each quantization method takes the parts of its weights.
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

/// The tensor that a method creates from a weight's parts.
struct ComposedWeight {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::shared_ptr<const ValueSource> source;
  std::string stored_as;
  bool is_linear = true;  // (outputs, inputs), even if the architecture stores the transpose
};

class WeightParts {
 public:
  /// `checkpoint` and `config` must outlive the object. `config` is config.json's
  /// quantization_config, null if there is none. `config_file` is the file that contains it.
  WeightParts(const Checkpoint& checkpoint, const nlohmann::json& config, std::string config_file)
      : checkpoint_(checkpoint), config_(config), config_file_(std::move(config_file)) {}

  const std::vector<CheckpointTensor>& tensors() const { return checkpoint_.tensors(); }

  /// Returns null if there is none.
  const CheckpointTensor* find(const std::string& name) const { return checkpoint_.find(name); }

  /// Whether all these tensors exist. If the index assigns a missing one to a file that does not
  /// exist, skips the weight like other tensors of that file and returns false. Otherwise throws
  /// Error(format) that names the first missing one.
  bool has_all(const CheckpointTensor& main, std::initializer_list<std::string> names);

  /// Whether the index assigns that tensor to a file that does not exist.
  bool is_elsewhere(const std::string& name) const;
  void leave_out(const CheckpointTensor& tensor) { taken_.insert(&tensor); }

  /// Throws Error(format) if the tensor has another shape or none of these dtypes.
  void check(const CheckpointTensor& tensor, std::initializer_list<DType> dtypes,
             const Shape& shape) const;
  void check_dtype(const CheckpointTensor& tensor, std::initializer_list<DType> dtypes) const;
  void check_axes(const CheckpointTensor& tensor, std::size_t axes) const;

  /// Returns the bytes of a small tensor, which is read now.
  std::span<const std::byte> bytes(const CheckpointTensor& tensor) const;

  ErrorParts place_of(const CheckpointTensor& tensor) const {
    return checkpoint_.parts_of(tensor, "");
  }

  [[noreturn]] void refuse(const CheckpointTensor& tensor, const std::string& problem) const;
  [[noreturn]] void refuse_unread(const CheckpointTensor& tensor, const std::string& problem) const;
  [[noreturn]] void refuse_config(const std::string& problem) const;

  /// Returns a field of the configuration; nothing if it is absent or null. Throws Error(format)
  /// for another type.
  std::optional<std::int64_t> number(std::string_view key) const;
  std::string text(std::string_view key) const;
  const nlohmann::json& config() const { return config_; }

  /// Replaces the parts by the weight. The weight belongs to the file of `parts.front()`.
  void add(ComposedWeight weight, std::initializer_list<const CheckpointTensor*> parts);

  /// Returns the checkpoint's tensors, with the combined weights instead of their parts.
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

/// Returns `name` without the suffix; nothing if it does not end with it.
std::optional<std::string> without_ending(std::string_view name, std::string_view ending);

/// Returns how many blocks of `each` elements cover `size`.
inline std::int64_t blocks_of(std::int64_t size, std::int64_t each) {
  return size / each + (size % each == 0 ? 0 : 1);
}

}  // namespace attnscope
