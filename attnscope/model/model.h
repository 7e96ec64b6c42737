// A checkpoint whose projections are known: canonical W_Q, W_K, W_V, W_O, W_gate, W_up, W_down.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/core/role.h"
#include "attnscope/model/name_pattern.h"
#include "attnscope/model/spec.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

/// One projection of one layer, located in its checkpoint, or why it is not there.
struct Weight {
  const CheckpointTensor* tensor = nullptr;  // null where the files lack it
  std::string missing;                       // then the reason, which names it; else empty
  const CheckpointTensor* bias = nullptr;    // null where the projection has none
  TensorMatrix matrix;                       // canonical orientation: rows are outputs
  TensorMatrix bias_column;                  // (rows, 1), where there is a bias
};

/// A tensor that is no projection, or why it is not there.
struct Site {
  const CheckpointTensor* tensor = nullptr;  // null where there is none
  std::string missing;  // the reason, which names it, where the files should hold it; else empty
};

/// The norm that feeds a layer's Q, K and V.
struct InputNorm {
  std::optional<NormSpec> norm;  // none of the model's width feeds them (layer 0 of some models)
  Site gain;                     // (D,); no tensor where the norm has none
};

/// Copies share the checkpoint, and with it the open files.
class Model {
 public:
  /// `path`: a folder with config.json and weights, or a weights file beside its config.json.
  /// `layout`: a layout file, which then replaces config.json.
  /// `name`: what rows call the model; empty: the last part of its path.
  /// Every projection of every layer is located and its shape checked here; no weights are read.
  /// Those that the files lack are left out, as long as one is there: a folder may hold a part of
  /// a model. Parts of quantised weights are composed. Throws Error(format) where none is, or a
  /// shape is wrong; Error(unsupported) where a checkpoint of an unknown quantisation has one
  /// missing or of another shape.
  static Model open(const std::filesystem::path& path,
                    const std::optional<std::filesystem::path>& layout = std::nullopt,
                    std::string name = "");

  /// Of a checkpoint that is open. Its own config goes before a config.json beside it.
  static Model open(Checkpoint checkpoint, const std::optional<std::filesystem::path>& layout,
                    std::string name);

  Model(Checkpoint checkpoint, ModelSpec spec, std::string name = "");

  /// The same model, called otherwise in rows.
  Model named(std::string name) const;

  const std::string& name() const { return name_; }
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  std::shared_ptr<const Checkpoint> shared_checkpoint() const { return checkpoint_; }
  const ModelSpec& spec() const { return spec_; }
  const Dimensions& dimensions() const { return spec_.dimensions; }
  const std::string& prefix() const { return prefix_; }

  /// Whether the files hold that projection, or both that the role is made of, of one layer at
  /// least.
  bool has(Role role) const;

  /// Of that layer.
  bool has(Role role, std::int64_t layer) const;

  /// Whether the architecture describes it, be it in the files or not.
  bool describes(Role role) const;

  /// `role` is a projection (std::invalid_argument for others); `layer` counts from 0.
  const Weight& weight(std::int64_t layer, Role role) const;

  /// By its full name; with a shape, Error(format) for a tensor of another.
  Site find(const std::string& name, const std::optional<Shape>& shape = std::nullopt) const;

  /// Gain and bias of a norm, (size,). `layer` fills its pattern; none: its name is a full name.
  Site norm_gain(const NormSpec& norm, std::optional<std::int64_t> layer, std::int64_t size) const;
  Site norm_bias(const NormSpec& norm, std::optional<std::int64_t> layer, std::int64_t size) const;

  /// Throws Error(unsupported) where the architecture does not say, Error(format) for a tensor of
  /// another shape.
  InputNorm input_norm(std::int64_t layer) const;

  /// Whether Q and K pass a norm of their own before they meet.
  bool norms_queries() const;

 private:
  void choose_prefix();
  ErrorParts wrong_shape(const CheckpointTensor& tensor, const Shape& expected,
                         std::optional<std::int64_t> layer = std::nullopt) const;
  Weight locate(const WeightRule& rule, std::int64_t layer) const;
  /// Null where it has none; `weight` is the full name of its weight. Throws Error(format).
  const CheckpointTensor* find_bias(const WeightRule& rule, const std::string& weight,
                                    std::int64_t layer) const;
  Site norm_tensor(const NormSpec& norm, std::optional<std::int64_t> layer, std::int64_t size,
                   std::string_view ending, std::string_view old_ending) const;

  std::string name_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  ModelSpec spec_;
  std::string prefix_;
  std::vector<std::array<Weight, kProjections.size()>> layers_;
};

/// Makes one tensor of the parts of each quantised weight, by the config that the checkpoint or its
/// folder holds, if one does. Model::open() does it. Throws Error(format, unsupported).
void compose_quantised(Checkpoint& checkpoint);

/// Why the tensor's values cannot be analysed though the file is sound; nothing where they can.
/// Throws Error(unsupported) for a dtype that is known but not decoded.
std::optional<std::string> why_not_analysed(const Checkpoint& checkpoint,
                                            const CheckpointTensor& tensor);

}  // namespace attnscope
