// Finds the model's tensors in a pickle, and their names.
#pragma once

#include <string>
#include <vector>

#include "attnscope/checkpoint/pytorch/pickle.h"

namespace attnscope {

struct PickledName {
  std::string name;  // valid UTF-8
  PickleRef tensor = kNoPickleRef;
};

/// Returns the tensors of the state dict in the pickle, in its order:
/// - those under `model`, `state_dict`, `module` or `model_state_dict`, also nested, if there is
///   such a key. Otherwise all tensors except those of optimizers, with nested names joined by
///   dots.
/// - for a whole pickled module: its parameters and buffers.
/// - without the prefix `module.` if all names have it, and without `_orig_mod.`.
/// Throws Error(format) if there is none, or if two tensors have the same name.
std::vector<PickledName> find_state_dict(const Pickle& pickle, const FileLocation& where);

/// Returns the value at `key` of a dict, an OrderedDict or a similar mapping; kNoPickleRef if there
/// is none.
PickleRef find_item(const Pickle& pickle, PickleRef mapping, std::string_view key);

/// Returns key, value, key, value, … of such a mapping; empty for other values.
std::vector<PickleRef> items_of(const Pickle& pickle, PickleRef mapping);

}  // namespace attnscope
