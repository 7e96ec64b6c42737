// Opens a base model with a PEFT adapter as one model, whose weights are merged when they are read.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// An adapter before its base is known.
struct OpenAdapter {
  Checkpoint files;
  std::optional<std::string> base = {};  // base_model_name_or_path of its config
};

/// `weights`: a file of the folder; empty: the adapter weights in it. Throws Error(io) if the
/// folder has no adapter, and the errors of Checkpoint::open().
OpenAdapter open_adapter(const CheckpointFolder& folder, std::string weights = "");

/// All stacks, as Model::open_stacks() returns them. Notes are appended to `notes`. Throws the
/// errors of Model::open_stacks() and adapted_tensors().
std::vector<Model> open_adapted_stacks(Checkpoint base, OpenAdapter adapter,
                                       const std::optional<std::filesystem::path>& layout,
                                       std::string name, std::vector<std::string>& notes);

}  // namespace attnscope
