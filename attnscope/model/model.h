// A checkpoint whose projections are located: canonical W_Q, W_K, W_V, W_O, W_gate, W_up, W_down.
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
  std::string missing;                       // the reason if it is missing, with its name;
                                             // otherwise empty
  const CheckpointTensor* bias = nullptr;    // null if the projection has no bias
  TensorMatrix matrix;                       // canonical orientation: rows are outputs
  TensorMatrix bias_column;                  // (rows, 1), if there is a bias
};

/// A tensor other than a projection, or why it is missing.
struct Site {
  const CheckpointTensor* tensor = nullptr;  // null if there is none
  std::string missing;  // the reason, with its name, if the files should contain it; otherwise
                        // empty
};

/// The norm that feeds a layer's Q, K and V.
struct InputNorm {
  std::optional<NormSpec> norm;  // none if no norm of size D feeds them (layer 0 of some models)
  Site gain;                     // (D,); no tensor if the norm has no gain
};

/// Runs the layers of a model outside of this library, such as in PyTorch. The interface is up to
/// the forward pass: LayersElsewhere is the only class derived from this one.
class LayerRunner {
 public:
  virtual ~LayerRunner() = default;
};

/// Copies share the checkpoint, and with it the open files.
class Model {
 public:
  /// Opens a model: locates every projection of every layer and checks its shape, but reads no
  /// weights. `path`: a folder with config.json and weights, or a weights file in the folder of its
  /// config.json. `layout`: a layout file that replaces config.json. `name`: the model's name in
  /// rows; empty: the last component of its path. Missing projections are skipped, because a folder
  /// may contain only part of a model. Combines the tensors of quantized weights. Throws
  /// Error(format) if there is no projection at all or a shape is wrong. Throws Error(unsupported)
  /// if the quantization is unknown and a projection is missing or has another shape.
  static Model open(const std::filesystem::path& path,
                    const std::optional<std::filesystem::path>& layout = std::nullopt,
                    std::string name = "");

  /// Opens the model of an open checkpoint. A config inside the checkpoint takes precedence over a
  /// config.json next to it.
  static Model open(Checkpoint checkpoint, const std::optional<std::filesystem::path>& layout,
                    std::string name);

  /// Opens all stacks of a model, such as encoder and decoder, as models that share the checkpoint,
  /// named `name`:encoder and so on. Returns the model alone if it has one stack. Skips stacks of
  /// which the files contain nothing.
  static std::vector<Model> open_stacks(Checkpoint checkpoint,
                                        const std::optional<std::filesystem::path>& layout,
                                        std::string name);

  /// The same for a checkpoint that stays with the caller, who may change it when no model refers
  /// to it anymore.
  static std::vector<Model> open_stacks(const std::shared_ptr<Checkpoint>& checkpoint,
                                        const std::optional<std::filesystem::path>& layout,
                                        std::string name);

  /// Opens a checkpoint again whose tensors were changed after open_stacks().
  static std::vector<Model> reopen_stacks(std::shared_ptr<const Checkpoint> checkpoint,
                                          const std::optional<std::filesystem::path>& layout,
                                          std::string name);

  /// Opens one stack of the model, or the model itself if `stack` is empty. Throws Error(format) if
  /// the files do not contain that stack.
  static Model open_stack(Checkpoint checkpoint, const std::string& name, std::string_view stack);

  Model(Checkpoint checkpoint, ModelSpec spec, std::string name = "");
  Model(std::shared_ptr<const Checkpoint> checkpoint, ModelSpec spec, std::string name);

  /// Returns the same model under another name in rows.
  Model named(std::string name) const;

  /// Sets what runs the layers of all stacks of one model. Weights are read as before.
  static void run_layers_by(std::vector<Model>& stacks,
                            const std::shared_ptr<const LayerRunner>& runner);
  /// Returns what runs the layers. Null: the forward pass of this library.
  const LayerRunner* layer_runner() const { return layer_runner_.get(); }

  const std::string& name() const { return name_; }
  /// The stack that this is, if the model has several; empty: the whole model.
  const std::string& stack() const { return spec_.architecture.stack; }
  /// Returns another stack of the same model. Returns null if it does not exist or the files
  /// contain nothing of it. Valid while any copy of this model exists.
  const Model* sibling(std::string_view stack) const;
  /// Returns a copy of that stack that knows its siblings, as this model does. The stack must
  /// exist.
  Model beside(std::string_view stack) const;
  /// Whether a tensor counts to this stack. Tensors that several stacks name count to the first of
  /// them. Tensors that no stack names count to the first stack of all.
  bool owns(const std::string& tensor) const {
    return of_other_stacks_ == nullptr || !of_other_stacks_->contains(tensor);
  }
  const Checkpoint& checkpoint() const { return *checkpoint_; }
  std::shared_ptr<const Checkpoint> shared_checkpoint() const { return checkpoint_; }
  const ModelSpec& spec() const { return spec_; }
  const Dimensions& dimensions() const { return spec_.dimensions; }
  /// Sizes of a layer. Its heads and MLP may have individual shapes.
  const Dimensions& dimensions(std::int64_t layer) const { return spec_.dimensions_of(layer); }
  const std::string& prefix() const { return prefix_; }

  /// Returns the stored matrices that make up the role: the matrix itself, the factors of a
  /// circuit, or W_K and W_V for kv. In models with latents, the matrices of the latents replace
  /// W_Q, W_K and W_V.
  std::vector<Role> parts_of(Role role) const;

  /// Whether the role is one stored matrix.
  bool is_stored(Role role) const;

  /// Whether the role is computed from matrices of latents.
  bool is_of_latents(Role role) const;

  /// Whether the files contain the projection, or all components of the role, for at least one
  /// layer.
  bool has(Role role) const;

  /// The same for one layer.
  bool has(Role role, std::int64_t layer) const;

  /// Whether the architecture describes the role, whether the files contain it or not.
  bool describes(Role role) const;

  /// `role` must be a projection (std::invalid_argument otherwise); `layer` counts from 0. In MoE
  /// layers, gate, up and down are missing here: see expert_weight().
  const Weight& weight(std::int64_t layer, Role role) const;

  /// Returns gate, up or down of one expert of an MoE layer. Located at each call. Throws
  /// Error(format) for a wrong shape.
  Weight expert_weight(std::int64_t layer, std::int64_t expert, Role role) const;

  /// Whether the architecture describes the role for experts.
  bool describes_of_expert(Role role) const;

  /// Returns a tensor by its full name. Throws Error(format) if it does not have the given `shape`.
  Site find(const std::string& name, const std::optional<Shape>& shape = std::nullopt) const;

  /// Returns gain and bias of a norm. `layer` fills in the pattern; none: the name is a full name.
  Site norm_gain(const NormSpec& norm, std::optional<std::int64_t> layer, const Shape& shape) const;
  Site norm_bias(const NormSpec& norm, std::optional<std::int64_t> layer, const Shape& shape) const;

  /// Throws Error(unsupported) if the architecture does not describe the norm, Error(format) for a
  /// tensor of another shape.
  InputNorm input_norm(std::int64_t layer) const;

  /// Whether Q and K have their own norms.
  bool norms_queries() const;

 private:
  bool has_circuits() const;
  bool has_mla_keys() const;
  static std::vector<Model> stacks_of(std::shared_ptr<const Checkpoint> shared,
                                      std::vector<ModelSpec> specs,
                                      const std::optional<std::filesystem::path>& layout,
                                      std::string name);
  static void share_out(std::vector<Model>& stacks);
  void choose_prefix();
  ErrorParts wrong_shape(const CheckpointTensor& tensor, const Shape& expected,
                         std::optional<std::int64_t> layer = std::nullopt) const;
  /// `sizes`: of the matrix, see of_expert().
  Weight locate(const WeightRule& rule, std::int64_t layer, const Dimensions& sizes) const;
  const ExpertTensors* choose_expert_tensors() const;
  /// Returns the bias of a projection, null if it has none. `weight` is the full name of its
  /// weight. Throws Error(format).
  const CheckpointTensor* find_bias(const WeightRule& rule, const std::string& weight,
                                    std::int64_t layer) const;
  Site norm_tensor(const NormSpec& norm, std::optional<std::int64_t> layer, const Shape& shape,
                   std::string_view ending, std::string_view old_ending) const;

  std::string name_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  ModelSpec spec_;
  std::string prefix_;
  std::shared_ptr<const std::set<std::string>> of_other_stacks_;  // null: there are none
  std::shared_ptr<const std::vector<Model>> stacks_;  // all stacks of the model; null: this is the
                                                      // whole model
  std::shared_ptr<const LayerRunner> layer_runner_;
  std::vector<std::array<Weight, kProjections.size()>> layers_;
  const ExpertTensors* expert_tensors_ = nullptr;  // layout of the expert tensors; null: there are
                                                   // no experts
};

/// Combines the parts of each quantized weight into one tensor, as specified by the config of the
/// checkpoint or its folder, if there is one. Called by Model::open(). Throws Error(format,
/// unsupported).
void compose_by_config(Checkpoint& checkpoint);

/// Returns why the tensor's values cannot be analyzed although the file is valid; nothing if they
/// can. Throws Error(unsupported) for a dtype that is known but not decoded.
std::optional<std::string> why_not_analyzed(const Checkpoint& checkpoint,
                                            const CheckpointTensor& tensor);

}  // namespace attnscope
