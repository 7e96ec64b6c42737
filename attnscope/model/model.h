// A checkpoint whose projections are known: canonical W_Q, W_K, W_V, W_O, W_gate, W_up, W_down.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/expert_and_mixer_rules.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/model/tensor_names.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {

/// One projection of one layer in its checkpoint, or why it is missing.
struct Weight {
  const CheckpointTensor* tensor = nullptr;  // null if the files lack it
  std::string missing;                       // then the reason, with its name; else empty
  const CheckpointTensor* bias = nullptr;    // null if the projection has none
  TensorMatrix matrix;                       // canonical orientation: rows are outputs
  TensorMatrix bias_column;                  // (rows, 1), if there is a bias
};

/// A tensor other than a projection, or why it is missing.
struct Site {
  const CheckpointTensor* tensor = nullptr;  // null if there is none
  std::string missing;  // the reason, with its name, if the files should hold it; else empty
};

/// The norm that feeds a layer's Q, K and V.
struct InputNorm {
  std::optional<NormSpec> norm;  // none if no norm of width D feeds them (layer 0 of some models)
  Site gain;                     // (D,); no tensor if the norm has no gain
};

/// Copies share the checkpoint, and with it the open files.
class Model {
 public:
  /// `path`: a folder with config.json and weights, or a weights file beside its config.json.
  /// `layout`: a layout file, which then replaces config.json. `name`: what rows call the model;
  /// empty: the last part of its path. Locates every projection of every layer and checks its
  /// shape; reads no weights. A folder may hold a part of a model, so missing projections are left
  /// out. Composes the parts of quantised weights. Throws Error(format) if there is no projection
  /// at all or a shape is wrong; Error(unsupported) if the quantisation is unknown and a projection
  /// is missing or has another shape.
  static Model open(const std::filesystem::path& path,
                    const std::optional<std::filesystem::path>& layout = std::nullopt,
                    std::string name = "");

  /// Of an open checkpoint. Its own config is preferred to a config.json beside it.
  static Model open(Checkpoint checkpoint, const std::optional<std::filesystem::path>& layout,
                    std::string name);

  /// The stacks of a model that has several, an encoder and a decoder say, as models of their own
  /// that share the checkpoint, named `name`:encoder and so on; else the model alone. A stack of
  /// which the files hold nothing is left out.
  static std::vector<Model> open_stacks(Checkpoint checkpoint,
                                        const std::optional<std::filesystem::path>& layout,
                                        std::string name);

  /// That stack of the model; the model alone where `stack` is empty. Throws Error(format) where
  /// the files hold no such stack.
  static Model open_stack(Checkpoint checkpoint, const std::string& name, std::string_view stack);

  Model(Checkpoint checkpoint, ModelSpec spec, std::string name = "");
  Model(std::shared_ptr<const Checkpoint> checkpoint, ModelSpec spec, std::string name);

  /// The same model under another name in rows.
  Model named(std::string name) const;

  const std::string& name() const { return name_; }
  /// Which stack of a model with several this is; empty: it is the whole model.
  const std::string& stack() const { return spec_.architecture.stack; }
  /// That stack of the same model; null where it has none, or the files hold nothing of it. Lives
  /// as long as some copy of this model.
  const Model* sibling(std::string_view stack) const;
  /// A copy of it that knows its siblings, as this model does. There must be one.
  Model beside(std::string_view stack) const;
  /// False for tensors that another stack of the model names, or that several name and that count
  /// to the first of them. What no stack names counts to the first stack.
  bool owns(const std::string& tensor) const {
    return of_other_stacks_ == nullptr || !of_other_stacks_->contains(tensor);
  }
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  std::shared_ptr<const Checkpoint> shared_checkpoint() const { return checkpoint_; }
  const ModelSpec& spec() const { return spec_; }
  const Dimensions& dimensions() const { return spec_.dimensions; }
  /// Of a layer, whose heads and MLP may have shapes of their own.
  const Dimensions& dimensions(std::int64_t layer) const { return spec_.dimensions_of(layer); }
  const std::string& prefix() const { return prefix_; }

  /// The stored matrices that the role is made of: itself, or the factors of a circuit, W_K and W_V
  /// of both stacked; in place of W_Q, W_K and W_V those of latents, where the model has latents.
  std::vector<Role> parts_of(Role role) const;

  /// Whether the role is one stored matrix.
  bool is_stored(Role role) const;

  /// Whether the role is made of latents' matrices.
  bool is_of_latents(Role role) const;

  /// Whether the files hold that projection, or all that the role is made of, for at least one
  /// layer.
  bool has(Role role) const;

  /// The same for one layer.
  bool has(Role role, std::int64_t layer) const;

  /// Whether the architecture describes the role, whether it is in the files or not.
  bool describes(Role role) const;

  /// `role` is a projection (std::invalid_argument for others); `layer` counts from 0. Of layers
  /// with experts, gate, up and down are missing here.
  const Weight& weight(std::int64_t layer, Role role) const;

  /// gate, up or down of one expert of a layer that has experts. Located at each call. Throws
  /// Error(format) for a wrong shape.
  Weight expert_weight(std::int64_t layer, std::int64_t expert, Role role) const;

  /// Whether the architecture describes the role for experts.
  bool describes_of_expert(Role role) const;

  /// A tensor by its full name. With `shape`, throws Error(format) for a tensor of another shape.
  Site find(const std::string& name, const std::optional<Shape>& shape = std::nullopt) const;

  /// Gain and bias of a norm. `layer` fills the pattern; none: the name is a full name.
  Site norm_gain(const NormSpec& norm, std::optional<std::int64_t> layer, const Shape& shape) const;
  Site norm_bias(const NormSpec& norm, std::optional<std::int64_t> layer, const Shape& shape) const;

  /// Throws Error(unsupported) if the architecture does not describe it, Error(format) for a tensor
  /// of another shape.
  InputNorm input_norm(std::int64_t layer) const;

  /// Whether Q and K have norms of their own.
  bool norms_queries() const;

 private:
  bool has_circuits() const;
  bool has_mla_keys() const;
  static void share_out(std::vector<Model>& stacks);
  void choose_prefix();
  ErrorParts wrong_shape(const CheckpointTensor& tensor, const Shape& expected,
                         std::optional<std::int64_t> layer = std::nullopt) const;
  /// `sizes`: of the matrix, see of_expert().
  Weight locate(const WeightRule& rule, std::int64_t layer, const Dimensions& sizes) const;
  const ExpertTensors* choose_expert_tensors() const;
  /// The bias of a projection, null if it has none; `weight` is the full name of its weight. Throws
  /// Error(format).
  const CheckpointTensor* find_bias(const WeightRule& rule, const std::string& weight,
                                    std::int64_t layer) const;
  Site norm_tensor(const NormSpec& norm, std::optional<std::int64_t> layer, const Shape& shape,
                   std::string_view ending, std::string_view old_ending) const;

  std::string name_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  ModelSpec spec_;
  std::string prefix_;
  std::shared_ptr<const std::set<std::string>> of_other_stacks_;  // null: there are none
  std::shared_ptr<const std::vector<Model>> stacks_;  // all of the model's; null: it is the whole
  std::vector<std::array<Weight, kProjections.size()>> layers_;
  const ExpertTensors* expert_tensors_ = nullptr;  // of the rule; null: there are no experts
};

/// Composes the parts of each quantised weight into one tensor, by the config of the checkpoint or
/// its folder, if there is one. Model::open() calls it. Throws Error(format, unsupported).
void compose_by_config(Checkpoint& checkpoint);

/// Why the tensor's values cannot be analysed although the file is valid; nothing if they can.
/// Throws Error(unsupported) for a dtype that is known but not decoded.
std::optional<std::string> why_not_analyzed(const Checkpoint& checkpoint,
                                            const CheckpointTensor& tensor);

}  // namespace attnscope
