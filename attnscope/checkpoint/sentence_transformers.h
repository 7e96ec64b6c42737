// Folders of sentence-transformers: modules.json, and one folder per module.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// Returns the folder of the transformer in a folder of sentence-transformers: `0_Transformer`, or
/// the path of the first module in modules.json. Returns `folder` itself if it has a config.json or
/// no modules.json. Throws Error(format) if modules.json is malformed, names no transformer, or
/// names a path that is not a folder inside `folder`.
std::filesystem::path transformer_folder(const std::filesystem::path& folder);

/// What sentence-transformers computes from the last hidden states (T, D) of a text. Source:
/// huggingface/sentence-transformers, sentence_transformers/models/Pooling.py.
enum class SentencePooling {
  first,          // the row of the first token
  max,            // the maximum over tokens
  mean,           // the mean over tokens
  scaled_sum,     // the sum over tokens / √T
  weighted_mean,  // the mean over tokens, with weights 1, 2, …, T
  last,           // the row of the last token
};

struct SentenceModules {
  std::vector<SentencePooling> poolings;  // their results are concatenated
  bool normalizes = false;                // the result has length 1
};

/// The modules after the transformer. `folder`: that of the transformer, or the one that contains
/// it. Nothing without a modules.json, and if it lists other modules than pooling and
/// normalization. Throws Error(format) for malformed files.
std::optional<SentenceModules> sentence_modules(const CheckpointFolder& folder);

}  // namespace attnscope
