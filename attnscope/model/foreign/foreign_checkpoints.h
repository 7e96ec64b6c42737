// Checkpoints that other programs than transformers wrote, without a config.json.
#pragma once

#include "attnscope/checkpoint/checkpoint.h"

namespace attnscope {

/// Gives the tensors of such a checkpoint the names and the order of elements that transformers
/// uses, and brings a config.json of their sizes. Supports nanoGPT, LitGPT, Meta's and
/// Mistral's consolidated files with params.json, OpenAI's Whisper, fairseq's RoBERTa and BART,
/// open_clip, and ViTs of timm. Does nothing if a config.json describes the model, or for files of other programs. Throws Error(format) for
/// sizes that contradict each other, Error(unsupported) for variants that no family describes.
void adopt_foreign_checkpoint(Checkpoint& checkpoint);

}  // namespace attnscope
