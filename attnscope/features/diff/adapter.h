// LoRA adapters in PEFT's format: adapter_config.json and adapter_model.safetensors. Source:
// huggingface/peft, tuners/lora/{config,layer}.py, utils/save_and_load.py.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/new_folder.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// The low-rank change of a module: b (outputs, r) times a (r, inputs).
struct AdapterModule {
  Matrix<double> a, b;
  std::vector<double> bias;  // new bias of the module; empty: it has none
};

/// The change from a base to a fine-tuned model. Names are those of the loaded model.
struct Adapter {
  std::string base;                              // base_model_name_or_path of the config
  bool causal = true;                            // whether the base is a decoder
  bool transposed = false;                       // files contain (inputs, outputs): fan_in_fan_out
  std::map<std::string, AdapterModule> modules;  // by name, without ".weight"
  bool with_biases = false;                      // biases of all modules are part of it
  std::map<std::string, TensorView> whole;       // tensors to replace, by full name
  std::vector<std::string> linear;               // all modules that LoRA could adapt
};

/// Writes float32. Throws Error(io) if the disk is full.
void write_adapter(const Adapter& adapter, const std::string& card, const NewFolder& folder);

}  // namespace attnscope
