// Writes a changed model as a Hugging Face folder: config.json, safetensors (large models in shards
// with an index), unchanged tokenizer files and a model card. Format: huggingface_hub,
// split_torch_state_dict_into_shards; transformers, save_pretrained.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "attnscope/base/new_folder.h"
#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/features/common/changed_model.h"

namespace attnscope {

inline constexpr std::uint64_t kUsualShardBytes = 5'000'000'000;

struct WrittenForm {
  std::optional<DType>
      dtype;  // of all real numbers; empty: unchanged, but quantized weights as bf16
  std::uint64_t shard_bytes = kUsualShardBytes;
  std::string card;  // the text of README.md
};

/// Whether a file next to the weights is copied: files for tokenizers, generation, chat templates
/// and licenses are; weights, configs and code are not.
bool goes_along(const std::string& name);

/// Writes all files. `beside`: the folder with the tokenizer. The output is byte-identical in every
/// run. Throws Error(io) if the disk is full, and Stopped.
void write_model(const ChangedModel& model, const CheckpointFolder& beside, const WrittenForm& form,
                 const NewFolder& folder, const std::stop_token& stop);

}  // namespace attnscope
