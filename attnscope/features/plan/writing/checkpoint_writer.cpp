#include "attnscope/features/plan/writing/checkpoint_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/tensor/encode.h"
#include "attnscope/tensor/safetensors_writer.h"

namespace attnscope {
namespace {

constexpr const char* kWeights = "model.safetensors";

/// The dtype in which a tensor is written.
DType written_dtype(const TensorView& view, const std::optional<DType>& wanted) {
  const std::optional<DType> plain = plain_dtype(view);
  if (plain && dtype_info(*plain).kind == DTypeClass::integer) return *plain;
  if (wanted) return *wanted;
  return plain.value_or(DType::bf16);
}

struct Shard {
  std::vector<SavedTensor> tensors;
  std::uint64_t bytes = 0;
};

/// Assigns tensors to shards by name. A tensor that does not fit starts a new shard and is never
/// divided.
std::vector<Shard> shards_of(const ChangedModel& model, const WrittenForm& form) {
  std::vector<Shard> shards(1);
  for (const auto& [name, view] : model.tensors()) {
    SavedTensor tensor{.name = name, .type = written_dtype(view, form.dtype), .shape = view.shape};
    const std::uint64_t bytes = saved_bytes(tensor);
    if (!shards.back().tensors.empty() && shards.back().bytes + bytes > form.shard_bytes) {
      shards.emplace_back();
    }
    shards.back().tensors.push_back(std::move(tensor));
    shards.back().bytes += bytes;
  }
  for (Shard& shard : shards) {  // the format expects larger elements first, for alignment
    std::stable_sort(shard.tensors.begin(), shard.tensors.end(),
                     [](const SavedTensor& a, const SavedTensor& b) {
                       return dtype_info(a.type).bits > dtype_info(b.type).bits;
                     });
  }
  return shards;
}

std::string shard_name(std::size_t shard, std::size_t count) {
  if (count == 1) return kWeights;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "model-%05zu-of-%05zu.safetensors", shard + 1, count);
  return text.data();
}

void write_shard(const ChangedModel& model, const Shard& shard, std::ostream& out,
                 const std::stop_token& stop) {
  const Checkpoint& checkpoint = model.source().checkpoint();
  SafetensorsWriter file(shard.tensors, out, {{"format", "pt"}});
  for (const SavedTensor& tensor : shard.tensors) {
    if (stop.stop_requested()) throw Stopped();
    const TensorView& view = model.tensors().at(tensor.name);
    checkpoint.need(all_bytes(view));
    file.write(tensor.type, encoded_elements(view, tensor.type));
    if (const CheckpointTensor* own = checkpoint.find(tensor.name)) checkpoint.check_intact(*own);
    if (!out) return;  // NewFolder throws the reason
  }
  file.end();
}

std::string index_text(const std::vector<Shard>& shards) {
  nlohmann::json index;
  std::uint64_t total = 0;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    total += shards[shard].bytes;
    for (const SavedTensor& tensor : shards[shard].tensors) {
      index["weight_map"][tensor.name] = shard_name(shard, shards.size());
    }
  }
  index["metadata"]["total_size"] = total;
  return index.dump(2) + "\n";
}

/// config.json with the requested dtype, under the key that the config already uses.
std::string written_config(ChangedModel model, const std::optional<DType>& dtype) {
  if (!dtype) return model.config_text();
  const std::string name = *dtype == DType::f32   ? "\"float32\""
                           : *dtype == DType::f16 ? "\"float16\""
                                                  : "\"bfloat16\"";
  const bool old = model.config("torch_dtype").has_value() && !model.config("dtype");
  model.set_config(old ? "torch_dtype" : "dtype", name);
  return model.config_text();
}

/// A file byte for byte, or the replacement text contained in the weights file.
std::string copied_bytes(const CheckpointFolder& folder, const std::string& name) {
  constexpr std::uint64_t kLargest = 1'000'000'000;
  const bool brought = folder.place_of(name) != (folder.path() / name).string();
  return brought ? folder.read_text(name, kLargest) : bytes_of(folder.open(name), kLargest);
}

}  // namespace

bool goes_along(const std::string& name) {
  constexpr std::array kWhole = {
      "generation_config.json", "special_tokens_map.json", "added_tokens.json",       "merges.txt",
      "chat_template.json",     "chat_template.jinja",     "preprocessor_config.json"};
  if (std::find(kWhole.begin(), kWhole.end(), name) != kWhole.end()) return true;
  if (name.ends_with(".py") || name.find('/') != std::string::npos) return false;
  constexpr std::array kStarts = {"tokenizer", "vocab", "LICENSE", "LICENCE", "NOTICE"};
  const bool begins = std::any_of(kStarts.begin(), kStarts.end(),
                                  [&](const char* start) { return name.starts_with(start); });
  return begins || name.ends_with(".tiktoken") || name == "spiece.model" ||
         name == "sentencepiece.bpe.model";
}

void write_model(const ChangedModel& model, const CheckpointFolder& beside, const WrittenForm& form,
                 const NewFolder& folder, const std::stop_token& stop) {
  const std::vector<Shard> shards = shards_of(model, form);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    folder.write(shard_name(shard, shards.size()),
                 [&](std::ostream& out) { write_shard(model, shards[shard], out, stop); });
  }
  if (shards.size() > 1) {
    folder.write(std::string(kWeights) + ".index.json", index_text(shards));
  }
  folder.write("config.json", written_config(model, form.dtype));
  std::vector<std::string> names = beside.names_ending("");
  if (beside.has("tokenizer.json"))
    names.emplace_back("tokenizer.json");  // may be contained in the weights file
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    std::error_code ignored;  // pipelines have folders with such names
    const bool is_folder = std::filesystem::is_directory(beside.path() / name, ignored);
    if (!goes_along(name) || !beside.has(name) || is_folder) continue;
    folder.write(name, copied_bytes(beside, name));
  }
  folder.write("README.md", form.card);
}

}  // namespace attnscope
