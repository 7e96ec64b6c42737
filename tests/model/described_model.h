// Models described by a layout file.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "attnscope/model/model.h"
#include "attnscope/model/summary.h"
#include "tests/support/temp_folder.h"

namespace attnscope::test {

inline Model open_with(const std::filesystem::path& checkpoint, const nlohmann::json& layout) {
  const TempFolder folder;
  return Model::open(checkpoint, folder.write("layout.json", layout.dump()));
}

inline Inventory inventory_of(const Model& model) {
  return take_inventory(model, declared_copies(model));
}

/// One layer of hidden size 4 with 2 heads of 2. Its tensors contain 0, 1, 2, …
inline nlohmann::json small_layout() {
  return {{"schema", "attnscope-layout/1"},
          {"layers", 1},
          {"hidden_size", 4},
          {"heads", 2},
          {"head_dim", 2}};
}

}  // namespace attnscope::test
