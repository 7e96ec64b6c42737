// How an adapter changes the weight of one module.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attnscope/adapters/adapter_parts.h"
#include "attnscope/adapters/merged_matrix.h"

namespace attnscope {

/// A linear layer or an embedding.
struct ModuleToChange {
  std::string name;
  const ModuleTensors& tensors;
  MergedMatrixPtr weight;    // (outputs, inputs)
  bool is_conv1d = false;    // transformers stores (inputs, outputs)
  bool is_saved = false;     // the weight is that of the adapter's file
  std::string of_base = {};  // the tensor of the base, for messages
};

class ModuleChanges {
 public:
  ModuleChanges(const Checkpoint& files, const AdapterConfig& config, const AdapterParts& parts);

  /// Draws VeRA's projections if the file lacks them. `outputs`, `inputs`: the largest of all
  /// adapted modules. Must be called before weight().
  void draw_vera_projections(std::int64_t outputs, std::int64_t inputs);

  /// The module's weight as PEFT merges it. Throws Error(format) for tensors that do not fit.
  MergedMatrixPtr weight(const ModuleToChange& module) const;

  /// The module's bias (1, outputs), if merging changes it; otherwise null.
  MergedMatrixPtr bias(const ModuleToChange& module, const TensorView& base) const;

  /// Whether merging changes the module's bias.
  bool changes_bias(const ModuleTensors& tensors) const;

  /// LoRA of `count` stacked parameters: the change of number `index`, of the outputs from
  /// `first_output` on. `parameter` is its full name.
  MergedMatrixPtr expert_weight(const ModuleToChange& module, const std::string& parameter,
                                std::int64_t index, std::int64_t count,
                                std::int64_t first_output) const;

  /// Bytes that changed weights refer to, besides those of the files.
  const std::vector<std::shared_ptr<const std::vector<std::byte>>>& memory() const {
    return memory_;
  }

 private:
  [[noreturn]] void refuse(const CheckpointTensor& tensor, const std::string& problem) const;
  void expect(const CheckpointTensor& tensor, const Shape& shape) const;
  void check_product(const ModuleToChange& module, const CheckpointTensor& b,
                     const CheckpointTensor& a, double rank) const;

  MergedMatrixPtr lora(const ModuleToChange& module) const;
  MergedMatrixPtr adalora(const ModuleToChange& module) const;
  MergedMatrixPtr loha(const ModuleToChange& module) const;
  MergedMatrixPtr lokr(const ModuleToChange& module) const;
  MergedMatrixPtr ia3(const ModuleToChange& module) const;
  MergedMatrixPtr vera(const ModuleToChange& module) const;
  MergedMatrixPtr oft(const ModuleToChange& module) const;
  MergedMatrixPtr boft(const ModuleToChange& module) const;

  /// Whether the factors scale outputs, not inputs.
  bool scales_outputs(const CheckpointTensor& factors) const;
  const Checkpoint& files_;
  const AdapterConfig& config_;
  const AdapterParts& parts_;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory_;
  TensorView vera_a_, vera_b_;
};

}  // namespace attnscope
