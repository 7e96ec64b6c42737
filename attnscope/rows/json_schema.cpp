#include "attnscope/rows/explain.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/rows/field.h"
#include "attnscope/rows/sink.h"

namespace attnscope {
namespace {

using nlohmann::ordered_json;

ordered_json object_of(const std::vector<Field>& fields);

ordered_json or_null(const ordered_json& schema) {
  return {{"anyOf", ordered_json::array({schema, {{"type", "null"}}})}};
}

/// One value, or one entry of a list or map.
ordered_json entry_of(const Field& field) {
  switch (field.type) {
    case FieldType::text:
      return field.choices.empty() ? ordered_json{{"type", "string"}}
                                   : ordered_json{{"enum", field.choices}};
    case FieldType::flag: return {{"type", "boolean"}};
    case FieldType::record: return object_of(field.fields);
    case FieldType::integer:
    case FieldType::number: break;
  }
  const ordered_json number = {{"type", field.type == FieldType::integer ? "integer" : "number"}};
  if (field.choices.empty()) return number;
  return {{"anyOf", ordered_json::array({number, {{"enum", field.choices}}})}};
}

ordered_json list_of(const ordered_json& entry) { return {{"type", "array"}, {"items", entry}}; }

ordered_json value_of(const Field& field) {
  ordered_json entry = entry_of(field);
  if (field.nulls == Nulls::entries) entry = or_null(entry);
  ordered_json value;
  switch (field.form) {
    case FieldForm::single: value = std::move(entry); break;
    case FieldForm::list: value = list_of(entry); break;
    case FieldForm::matrix: value = list_of(list_of(entry)); break;
    case FieldForm::by_threshold:
    case FieldForm::by_rank:
    case FieldForm::by_fraction:
      value = {{"type", "object"}, {"additionalProperties", entry}};
      break;
  }
  return field.nulls == Nulls::whole ? or_null(value) : value;
}

ordered_json object_of(const std::vector<Field>& fields) {
  ordered_json properties = ordered_json::object(), required = ordered_json::array();
  for (const Field& field : fields) {
    ordered_json property = {{"description", field.meaning}};
    property.update(value_of(field));
    properties[std::string(field.name)] = std::move(property);
    if (field.with.empty() && !field.optional) required.push_back(field.name);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

/// The flag that requests this kind is true; those of the command's other kinds are not.
ordered_json parameters_of(const RowKind& kind) {
  ordered_json parameters = object_of(kind.parameters);
  for (const Field& field : kind.parameters) {
    const bool asks =
        std::any_of(row_kinds().begin(), row_kinds().end(), [&](const RowKind& other) {
          return other.command == kind.command && other.option == field.name;
        });
    if (asks && field.type == FieldType::flag) {
      ordered_json& property = parameters["properties"][std::string(field.name)];
      property = {{"description", property["description"]}, {"const", field.name == kind.option}};
    }
  }
  return parameters;
}

ordered_json row_of(const RowKind& kind) {
  std::vector<Field> fields = kind.place;
  fields.insert(fields.end(), kind.fields.begin(), kind.fields.end());
  return object_of(fields);
}

/// One entry of `models`. A model with an architecture has all fields that are not optional.
ordered_json model_of(const RowKind& kind) {
  ordered_json model = object_of(kind.models);
  if (!kind.lists_any_file) return model;
  model["dependentRequired"] = {{"architecture", model["required"]}};
  model["required"] = {"name", "bytes"};
  return model;
}

ordered_json report_of(const RowKind& kind) {
  const ordered_json properties = {
      {"schema", {{"const", kSchema}}},    {"command", {{"const", kind.command}}},
      {"models", list_of(model_of(kind))}, {"parameters", parameters_of(kind)},
      {"rows", list_of(row_of(kind))},     {"skipped", list_of({{"$ref", "#/$defs/skipped"}})},
  };
  ordered_json required = ordered_json::array();
  for (const auto& [name, schema] : properties.items()) required.push_back(name);
  return {{"description", kind.meaning},
          {"type", "object"},
          {"properties", properties},
          {"required", required},
          {"additionalProperties", false}};
}

}  // namespace

std::string json_schema_text() {
  ordered_json kinds = ordered_json::array(), definitions = ordered_json::object();
  for (const RowKind& kind : row_kinds()) {
    kinds.push_back({{"$ref", "#/$defs/" + std::string(kind.name)}});
    definitions[std::string(kind.name)] = report_of(kind);
  }
  definitions["skipped"] = object_of(skipped_fields());
  const ordered_json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", kSchema},
      {"description", "Output of attnscope with --format json: a report with one kind of rows."},
      {"oneOf", kinds},
      {"$defs", definitions}};
  return schema.dump(1) + "\n";
}

}  // namespace attnscope
