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
/// tar file is recognised only to be refused by name.
bool is_pytorch(std::span<const std::byte> start);

/// The model's tensors (`find_state_dict`), as views into the file with any strides. Tensors that
/// share all their bytes become one, the first; the others are aliases. Tensors whose values cannot
/// be read are left out, with a note. Nothing that the pickle names is run.
FileContents read_pytorch(const MappedFile& file, std::string_view name);

/// The same for bytes in memory.
FileContents parse_pytorch(std::span<const std::byte> bytes, std::string_view name,
                           const NeedBytes& need = {});

// Hyperparameters that a training program saved beside the weights, as a config.json.

/// The text of a config.json with the pickle's `hparams`, and as `architectures` the class that
/// their `model_class` names ("models.gpt2.gpt_core.GPT2Core"). Nothing if there are no `hparams`.
/// Values that JSON cannot express are null. Source: checkpoints of jonathanmiddleton/daisy-wee.
std::optional<std::string> config_of_hparams(const Pickle& pickle);

}  // namespace attnscope
