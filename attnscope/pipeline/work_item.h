// A piece of work as a plain value: what is computed, and of what. Any process that has the same
// models open computes the same outcomes from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attnscope/core/role.h"
#include "attnscope/results/record.h"

namespace attnscope {

struct WorkItem {
  std::string analysis;               // its name in the list of analyses
  Record parameters;                  // all that decide the numbers, as that analysis names them
  std::size_t model = 0;              // index into the models of the run
  std::optional<std::int64_t> layer;  // none: a tensor by name
  std::optional<std::int64_t> earlier_layer;  // of a pair of layers
  std::optional<Role> role;                   // none: a tensor by name, or what takes several roles
  std::string tensor;                         // as the file names it; empty: a layer's

  /// What rows call it: the role, the tensor, or of a pair the earlier layer.
  std::string matrix_name() const;
};

/// JSON, and back. Throws Error(format) for text that is none, with `where` as its place.
std::string work_item_text(const WorkItem& item);
WorkItem parse_work_item(std::string_view text, std::string_view where);

}  // namespace attnscope
