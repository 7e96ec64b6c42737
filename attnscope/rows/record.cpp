#include "attnscope/rows/record.h"

#include <algorithm>
#include <cmath>

#include "attnscope/base/error.h"

namespace attnscope {

Value::Value(double value) {
  if (std::isfinite(value)) data_ = value;
}

Record::Record(std::initializer_list<std::pair<std::string, Value>> fields) : fields_(fields) {}

Record& Record::add(std::string name, Value value) {
  fields_.emplace_back(std::move(name), std::move(value));
  return *this;
}

const Value* Record::find(std::string_view name) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const auto& field) { return field.first == name; });
  return found == fields_.end() ? nullptr : &found->second;
}

void refuse_field(std::string_view name) {
  throw Error(ErrorKind::format, "rows",
              "the field '" + std::string(name) + "' is missing or has the wrong type");
}

}  // namespace attnscope
