// Which tensors of a pickle are the model's, and what they are called.
#pragma once

#include <string>
#include <vector>

#include "attnscope/checkpoint/pytorch/pickle.h"

namespace attnscope {

struct PickledName {
  std::string name;  // valid UTF-8
  PickleRef tensor = kNoPickleRef;
};

/// The tensors of the state dict that the pickle is or holds, in its order:
/// - under `model`, `state_dict`, `module` or `model_state_dict`, also one in another, if it is
///   there; else all tensors but those of optimizers, nested names joined by dots;
/// - of a whole pickled module its parameters and buffers;
/// - without the prefix `module.` where all have it, and without `_orig_mod.`.
/// Throws Error(format) where there is none, or two have one name.
std::vector<PickledName> find_state_dict(const Pickle& pickle, const FilePlace& where);

/// The value under `key` of a dict, an OrderedDict or the like; none where it is not there.
PickleRef find_item(const Pickle& pickle, PickleRef mapping, std::string_view key);

/// Key, value, key, value, … of such a mapping; empty for other values.
std::vector<PickleRef> items_of(const Pickle& pickle, PickleRef mapping);

}  // namespace attnscope
