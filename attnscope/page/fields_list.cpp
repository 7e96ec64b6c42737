#include "attnscope/page/fields_list.h"

#include <string>

#include "attnscope/results/field.h"

namespace attnscope {
namespace {

Record described(const Field& field) {
  constexpr const char* kTypes[] = {"text", "integer", "number", "flag", "record"};
  Record record = {{"name", field.name},
                   {"type", kTypes[static_cast<std::size_t>(field.type)]},
                   {"heading", field.heading},
                   {"meaning", field.meaning},
                   {"where", field.where}};
  if (!field.unit.empty()) record.add("unit", field.unit);
  return record;
}

}  // namespace

Record fields_list() {
  Record kinds;
  for (const RowKind& kind : row_kinds()) {
    Value::List fields;
    for (const Field* field : fields_of_rows(kind)) fields.emplace_back(described(*field));
    kinds.add(std::string(kind.name), std::move(fields));
  }
  return kinds;
}

}  // namespace attnscope
