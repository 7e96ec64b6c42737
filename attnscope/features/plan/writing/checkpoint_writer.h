// A changed model as a folder of Hugging Face's form: config.json, safetensors (in shards with an
// index where they are large), the tokenizer's files as they were, a model card. Source of the
// form: huggingface_hub, split_torch_state_dict_into_shards; transformers, save_pretrained.
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
  std::optional<DType> dtype;  // of all real numbers; none: each as it is, quantised ones as bf16
  std::uint64_t shard_bytes = kUsualShardBytes;
  std::string card;  // the text of README.md
};

/// Whether a file beside a model's weights goes along: those of tokenizers, of generation, chat
/// templates and licences do; weights, configs and code do not.
bool goes_along(const std::string& name);

/// Writes all files. `beside`: the folder with the tokenizer. The same bytes in any run. Throws
/// Error(io) for a full disk, Stopped.
void write_model(const ChangedModel& model, const CheckpointFolder& beside, const WrittenForm& form,
                 const NewFolder& folder, const std::stop_token& stop);

}  // namespace attnscope
