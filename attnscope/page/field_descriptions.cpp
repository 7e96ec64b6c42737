#include "attnscope/page/field_descriptions.h"

#include <string>

#include "attnscope/rows/field.h"

namespace attnscope {
namespace {

Record described(const FieldPlace& place) {
  const Field& field = *place.field;
  constexpr const char* kTypes[] = {"text", "integer", "number", "flag", "record"};
  Record record = {{"name", place.path},
                   {"type", kTypes[static_cast<std::size_t>(field.type)]},
                   {"heading", field.heading},
                   {"meaning", field.meaning},
                   {"where", field.where}};
  if (!field.unit.empty()) record.add("unit", field.unit);
  if (!field.words.empty()) record.add("words", field.words);
  return record;
}

}  // namespace

Record fields_list() {
  Record kinds;
  for (const RowKind& kind : row_kinds()) {
    Value::List fields;
    for (const FieldPlace& place : field_places()) {
      if (place.kind == &kind && place.part == "rows") fields.emplace_back(described(place));
    }
    kinds.add(std::string(kind.name), std::move(fields));
  }
  return kinds;
}

}  // namespace attnscope
