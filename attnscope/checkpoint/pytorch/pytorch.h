// Files of torch.save: a zip archive with a pickle and the storages of its tensors, or the older
// stream. Source: pytorch/pytorch, torch/serialization.py and caffe2/serialize/inline_container.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/file_formats.h"
#include "attnscope/checkpoint/pytorch/pickle.h"

namespace attnscope {

/// Whether the first bytes are those of a zip archive, a stream, or the tar file of torch 0.1. The
/// tar file is recognized only for a clear error message.
bool is_pytorch(std::span<const std::byte> start);

/// Returns the model's tensors (`find_state_dict`), as views into the file with any strides. Of
/// tensors that share all their bytes, the first is kept and the others become aliases. Tensors
/// whose values cannot be read are skipped, with a note. No code that the pickle names is run.
FileContents read_pytorch(const MappedFile& file, std::string_view name);

/// The same for bytes in memory.
FileContents parse_pytorch(std::span<const std::byte> bytes, std::string_view name,
                           const NeedBytes& need = {});

// Hyperparameters that a training program saved next to the weights, as a config.json.

/// Returns the text of a config.json with the pickle's `hparams`. `architectures` is the class in
/// their `model_class` ("models.gpt2.gpt_core.GPT2Core"). Returns nothing if there are no
/// `hparams`. Values that JSON cannot express are null. Source: checkpoints of
/// jonathanmiddleton/daisy-wee.
std::optional<std::string> config_of_hparams(const Pickle& pickle);

/// Returns the sizes that other programs save, as a JSON object: `model_args` of nanoGPT and `dims`
/// of Whisper. Empty if there are none.
std::string settings_of(const Pickle& pickle);

}  // namespace attnscope
