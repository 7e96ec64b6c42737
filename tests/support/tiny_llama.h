// Small checkpoints that tests can change.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {

/// An F32 tensor of independent normal values.
inline TensorToWrite random_tensor(std::string name, Shape shape, std::uint64_t seed) {
  TensorToWrite tensor = counting_tensor(std::move(name), std::move(shape));
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  for (std::size_t at = 0; at < tensor.bytes.size(); at += sizeof(float)) {
    const float value = normal(random);
    std::memcpy(tensor.bytes.data() + at, &value, sizeof value);
  }
  return tensor;
}

/// Sets one element of an F32 matrix in storage layout.
inline void set_element(TensorToWrite& tensor, std::int64_t row, std::int64_t col, float value) {
  const auto at = static_cast<std::size_t>(row * tensor.shape[1] + col) * sizeof value;
  std::memcpy(tensor.bytes.data() + at, &value, sizeof value);
}

/// A Llama of a few kilobytes, which tests change before it is written.
struct TinyLlama {
  static constexpr std::int64_t kHeads = 4, kKvHeads = 2, kHeadDim = 4, kWidth = 16, kMlp = 24;

  json config;
  std::vector<TensorToWrite> tensors;
  std::map<std::string, std::string> metadata;

  explicit TinyLlama(std::int64_t layers = 2, std::uint64_t seed = 1) {
    config = {{"model_type", "llama"},         {"num_hidden_layers", layers},
              {"num_attention_heads", kHeads}, {"num_key_value_heads", kKvHeads},
              {"head_dim", kHeadDim},          {"hidden_size", kWidth},
              {"intermediate_size", kMlp},     {"vocab_size", 10},
              {"max_position_embeddings", 32}, {"tie_word_embeddings", false}};
    const auto add = [&](const std::string& name, Shape shape) {
      tensors.push_back(random_tensor(name, std::move(shape), ++seed));
    };
    add("model.embed_tokens.weight", {10, kWidth});
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      add(attention_name(layer, 'q'), {kHeads * kHeadDim, kWidth});
      add(attention_name(layer, 'k'), {kKvHeads * kHeadDim, kWidth});
      add(attention_name(layer, 'v'), {kKvHeads * kHeadDim, kWidth});
      add(attention_name(layer, 'o'), {kWidth, kHeads * kHeadDim});
      const std::string mlp = "model.layers." + std::to_string(layer) + ".mlp.";
      add(mlp + "gate_proj.weight", {kMlp, kWidth});
      add(mlp + "up_proj.weight", {kMlp, kWidth});
      add(mlp + "down_proj.weight", {kWidth, kMlp});
    }
    add("model.norm.weight", {kWidth});
    add("lm_head.weight", {10, kWidth});
  }

  /// `matrix` is q, k, v or o.
  static std::string attention_name(std::int64_t layer, char matrix) {
    return "model.layers." + std::to_string(layer) + ".self_attn." + matrix + "_proj.weight";
  }

  TensorToWrite& tensor(const std::string& name) {
    for (TensorToWrite& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    throw std::runtime_error("no tensor " + name);
  }
  TensorToWrite& attention(std::int64_t layer, char matrix) {
    return tensor(attention_name(layer, matrix));
  }

  /// Writes config.json and model.safetensors, and returns the folder.
  std::string write(const TempFolder& into, const std::string& name) const {
    into.write(name + "/config.json", config.dump());
    return into.write(name + "/model.safetensors", safetensors_bytes(tensors, metadata))
        .parent_path()
        .string();
  }
};

/// A model that also has the norms for a forward pass.
inline TinyLlama runnable_llama() {
  TinyLlama tiny;
  for (const char* layer : {"0", "1"}) {
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) {
      tiny.tensors.push_back(random_tensor(
          std::string("model.layers.") + layer + "." + norm + ".weight", {TinyLlama::kWidth}, 7));
    }
  }
  return tiny;
}

}  // namespace attnscope::test
