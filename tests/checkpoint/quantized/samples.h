// A valid weight of every quantization method. Tests change it into an invalid one.
#pragma once

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {

using nlohmann::json;

using Tensors = std::vector<TensorToWrite>;

/// A valid weight of one method, and functions that make it invalid.
struct QuantizedSample {
  json config;
  Tensors tensors;

  QuantizedSample with(const char* key, json value) const {
    QuantizedSample changed = *this;
    changed.config[key] = std::move(value);
    return changed;
  }
  QuantizedSample without(const std::string& name) const {
    QuantizedSample changed = *this;
    std::erase_if(changed.tensors,
                  [&](const TensorToWrite& tensor) { return tensor.name == name; });
    return changed;
  }
  QuantizedSample with_tensor(const TensorToWrite& tensor) const {
    QuantizedSample changed = without(tensor.name);
    changed.tensors.push_back(tensor);
    return changed;
  }
};

inline TensorToWrite zeros(std::string name, const std::string& dtype, Shape shape) {
  return zero_tensor(std::move(name), dtype, dtype_info(*dtype_from_name(dtype)).bits,
                     std::move(shape));
}

inline TensorToWrite text_tensor(std::string name, const std::string& text) {
  return {std::move(name), "U8", {std::ssize(text)}, text};
}

inline TensorToWrite sizes(std::string name, const std::vector<std::int64_t>& values) {
  std::string bytes(values.size() * 8, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {std::move(name), "I64", {std::ssize(values)}, bytes};
}

inline TensorToWrite indices(std::string name, const std::vector<std::int32_t>& values) {
  std::string bytes(values.size() * 4, '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {std::move(name), "I32", {std::ssize(values)}, bytes};
}

inline QuantizedSample fp8() {
  return {{{"quant_method", "fp8"}, {"weight_block_size", {4, 4}}},
          {zeros("a.weight", "F8_E4M3", {8, 6}), zeros("a.weight_scale_inv", "F32", {2, 2})}};
}

inline QuantizedSample gptq() {  // 16 inputs, 8 outputs, groups of 8
  return {{{"quant_method", "gptq"}, {"bits", 4}, {"group_size", 8}},
          {zeros("a.qweight", "I32", {2, 8}), zeros("a.qzeros", "I32", {2, 1}),
           zeros("a.scales", "F16", {2, 8})}};
}

inline QuantizedSample awq() {
  return {{{"quant_method", "awq"}, {"version", "gemm"}},
          {zeros("a.qweight", "I32", {16, 2}), zeros("a.qzeros", "I32", {2, 2}),
           zeros("a.scales", "F16", {2, 16})}};
}

inline QuantizedSample bitnet() {
  return {{{"quant_method", "bitnet"}},
          {zeros("a.weight", "U8", {2, 6}), zeros("a.weight_scale", "BF16", {1})}};
}

inline const std::string kState = "a.weight.quant_state.bitsandbytes__nf4";

inline json four_bit_state() {
  return {{"quant_type", "nf4"}, {"blocksize", 16}, {"dtype", "float16"}, {"shape", {8, 6}}};
}

inline QuantizedSample four_bits(const json& state = four_bit_state()) {
  return {{{"quant_method", "bitsandbytes"}},
          {zeros("a.weight", "U8", {24, 1}), zeros("a.weight.absmax", "F32", {3}),
           zeros("a.weight.quant_map", "F32", {16}), text_tensor(kState, state.dump())}};
}

inline QuantizedSample state_with(const char* key, json value) {
  json state = four_bit_state();
  state[key] = std::move(value);
  return four_bits(state);
}

inline QuantizedSample nested() {
  json state = four_bit_state();
  state["nested_blocksize"] = 2;
  state["nested_offset"] = 0.5;
  return four_bits(state)
      .with_tensor(zeros("a.weight.absmax", "U8", {3}))
      .with_tensor(zeros("a.weight.nested_absmax", "F32", {2}))
      .with_tensor(zeros("a.weight.nested_quant_map", "F32", {256}));
}

inline QuantizedSample int8() {
  return {{{"quant_method", "bitsandbytes"}},
          {zeros("a.weight", "I8", {4, 6}), zeros("a.SCB", "F32", {4}),
           zeros("a.weight_format", "U8", {})}};
}

inline QuantizedSample packed(const json& changes = json::object()) {
  json weights = {{"num_bits", 4},
                  {"type", "int"},
                  {"strategy", "group"},
                  {"group_size", 8},
                  {"symmetric", true}};
  weights.update(changes);
  return {{{"quant_method", "compressed-tensors"},
           {"format", "pack-quantized"},
           {"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}}},
          {zeros("a.weight_packed", "I32", {4, 2}), zeros("a.weight_scale", "F16", {4, 2}),
           sizes("a.weight_shape", {4, 16})}};
}

inline QuantizedSample mxfp4() {
  return {{{"quant_method", "mxfp4"}},
          {zeros("a_blocks", "U8", {2, 3, 2, 16}), zeros("a_scales", "U8", {2, 3, 2})}};
}

inline Checkpoint open_malformed(const QuantizedSample& sample, const TempFolder& folder) {
  Checkpoint checkpoint =
      Checkpoint::open(folder.write("model.safetensors", safetensors_bytes(sample.tensors)));
  checkpoint.compose_quantized(sample.config["quant_method"].get<std::string>(),
                               sample.config.dump(), "config.json");
  return checkpoint;
}

}  // namespace attnscope::test
