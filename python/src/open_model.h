// Models that Python keeps open.
#pragma once

#include <string>
#include <vector>

#include "attnscope/features/framework/command.h"
#include "attnscope/model/model.h"
#include "python/src/interruptible.h"

namespace attnscope::python {

/// Its files stay mapped, and tensors of the program stay where they are, as long as this lives.
struct OpenModel {
  std::vector<Model> models;  // its stacks, most often one
  std::string name;  // as an argument names it: a path, a name of the hub, or what memory is called
  std::string layout;      // the layout file that describes it, or nothing
  bool is_remote = false;  // it is read on the hub
  std::vector<std::string> warnings = {};
};

/// What every run has in common: who may stop it, the hub, and where warnings go.
Session session_of(const Waiter& waiter, std::vector<std::string>& warnings);

}  // namespace attnscope::python
