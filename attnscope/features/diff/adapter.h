// LoRA adapters as PEFT keeps them: adapter_config.json and adapter_model.safetensors. Source:
// huggingface/peft, tuners/lora/{config,layer}.py, utils/save_and_load.py.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/new_folder.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// A base with an adapter merged into it, and what a user should know of that.
struct MergedAdapter {
  Model model;
  std::vector<std::string> notes;
};

/// As PEFT's merge_and_unload() does, in float64: W + scale · B A, and every tensor that the
/// adapter replaces. Throws Error(format) for an incomplete adapter or one of another model,
/// Error(unsupported) that names each option that is not supported.
MergedAdapter with_adapter(const Model& base, const std::filesystem::path& folder, std::string name,
                           const Compute& compute);

/// The low-rank change of one module: b (outputs, r) times a (r, inputs).
struct AdapterModule {
  Matrix<double> a, b;
  std::vector<double> bias;  // the module's whole new bias; empty: it has none
};

/// What turns a base into a fine-tuned model. Names are those of the loaded model.
struct Adapter {
  std::string base;                              // what the config calls the base model
  bool causal = true;                            // a decoder
  bool transposed = false;                       // files hold (inputs, outputs): fan_in_fan_out
  std::map<std::string, AdapterModule> modules;  // by name, without ".weight"
  bool with_biases = false;                      // those of all modules are part of it
  std::map<std::string, TensorView> whole;       // tensors that are replaced, by full name
  std::vector<std::string> linear;               // every module that LoRA could adapt
};

/// float32. Throws Error(io) for a full disk.
void write_adapter(const Adapter& adapter, const std::string& card, const NewFolder& folder);

}  // namespace attnscope
