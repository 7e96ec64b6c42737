// What the targets that describe a model have in common: a small checkpoint to hold the
// description against.
#pragma once

#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model.h"
#include "attnscope/model/summary.h"

namespace attnscope::fuzz {

/// A safetensors file that lives as long as the process.
class TinyCheckpoint {
 public:
  TinyCheckpoint() {
    add("a", "F32", 4, "4,4");
    add("b", "F64", 8, "4,4");
    add("c", "BF16", 2, "4,12");
    add("d", "F16", 2, "12,4");
    add("s", "F8_E4M3", 1, "4,4,4");
    add("i", "I32", 4, "4,4");
    // One layer of GPT-2.
    add("transformer.wte.weight", "F32", 4, "4,4");
    add("transformer.h.0.attn.c_attn.weight", "F32", 4, "4,12");
    add("transformer.h.0.attn.c_attn.bias", "F32", 4, "12");
    add("transformer.h.0.attn.c_proj.weight", "F32", 4, "4,4");
    add("transformer.h.0.mlp.c_fc.weight", "F32", 4, "4,16");
    add("transformer.h.0.mlp.c_proj.weight", "F32", 4, "16,4");

    header_ += '}';
    std::string file;
    for (int byte = 0; byte < 8; ++byte) {
      file += static_cast<char>(header_.size() >> 8 * byte & 0xFF);
    }
    file += header_ + std::string(payload_bytes_, '\x3C');

    std::string folder =
        (std::filesystem::temp_directory_path() / "attnscope-fuzz-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) abort();
    folder_ = folder;
    std::ofstream(folder_ / "model.safetensors", std::ios::binary) << file;
  }
  ~TinyCheckpoint() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TinyCheckpoint(const TinyCheckpoint&) = delete;
  TinyCheckpoint& operator=(const TinyCheckpoint&) = delete;

  Checkpoint open() const { return Checkpoint::open(folder_); }

 private:
  /// `shape`: sizes separated by commas.
  void add(const std::string& name, const std::string& dtype, std::size_t element_bytes,
           const std::string& shape) {
    std::size_t bytes = element_bytes;
    for (std::size_t at = 0; at < shape.size(); at = shape.find(',', at)) {
      if (shape[at] == ',') ++at;
      bytes *= std::stoul(shape.substr(at));
    }
    header_ += header_.size() > 1 ? "," : "";
    header_ += "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape +
               "],\"data_offsets\":[" + std::to_string(payload_bytes_) + "," +
               std::to_string(payload_bytes_ + bytes) + "]}";
    payload_bytes_ += bytes;
  }

  std::string header_ = "{";
  std::size_t payload_bytes_ = 0;
  std::filesystem::path folder_;
};

/// Everything that the library does with a description before it computes.
inline void use(const ModelSpec& spec) {
  for (const Role role : kProjections) canonical_shape(spec.dimensions, role);
  layer_numbers(spec.dimensions, spec.dimensions.layers - 1);
  if (spec.dimensions.layers > 32) return;  // nothing new, only slower

  static const TinyCheckpoint tiny;
  const Model model(tiny.open(), spec);
  take_inventory(model, possible_copies(model));
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    for (const Role role : kProjections) {
      const Weight& weight = model.weight(layer, role);
      if (weight.tensor == nullptr) continue;
      if (why_not_analyzed(model.checkpoint(), *weight.tensor)) continue;
      decode_exact(weight.matrix);
    }
  }
}

}  // namespace attnscope::fuzz
