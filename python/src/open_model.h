// Models that Python keeps open.
#pragma once

#include <string>
#include <vector>

#include "attnscope/features/framework/command.h"
#include "attnscope/model/model.h"
#include "python/src/interruptible.h"

namespace attnscope::python {

/// Keeps files mapped and tensors in memory alive.
struct OpenModel {
  std::vector<Model> models;  // its stacks, usually one
  std::string name;           // in arguments: a path, a hub name, or a generated name
  std::string layout;         // path of the layout file, or empty
  bool is_remote = false;     // read from the hub without caching
  std::vector<std::string> warnings = {};
};

/// Returns the settings that all runs share: stop token, hub access and warnings.
Session session_of(const Waiter& waiter, std::vector<std::string>& warnings);

}  // namespace attnscope::python
