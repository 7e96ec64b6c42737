#include "attnscope/rows/table/models.h"

#include <algorithm>

namespace attnscope {
namespace {

constexpr const char* kShared = "shared_weights";

bool names(const Value::List& matrices, const std::string& matrix) {
  return std::any_of(matrices.begin(), matrices.end(), [&](const Value& name) {
    return expect<std::string>(name, kShared) == matrix;
  });
}

}  // namespace

bool shares_weights(const Record& model) { return model.find(kShared) != nullptr; }

std::int64_t first_with_same(const Record& model, const std::string& matrix, std::int64_t layer) {
  if (!shares_weights(model)) return layer;
  for (const Value& entry : expect<Value::List>(model, kShared)) {
    const auto& shared = expect<Record>(entry, kShared);
    const auto& layers = expect_vector<std::int64_t>(shared, "layers");
    const bool has_layer = std::find(layers.begin(), layers.end(), layer) != layers.end();
    if (has_layer && names(expect<Value::List>(shared, "matrices"), matrix)) return layers.front();
  }
  return layer;
}

}  // namespace attnscope
