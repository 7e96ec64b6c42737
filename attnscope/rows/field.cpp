#include "attnscope/rows/field.h"

#include <algorithm>
#include <stdexcept>

namespace attnscope {
namespace {

void add_position_embeddings(const RowKind* kind, std::string_view part,
                             std::span<const Field> fields, const std::string& outer,
                             std::vector<FieldLocation>& places) {
  for (const Field& field : fields) {
    const std::string path = outer + std::string(field.name);
    places.push_back({.kind = kind, .part = part, .path = path, .field = &field});
    add_position_embeddings(kind, part, field.fields, path + ".", places);
  }
}

std::vector<FieldLocation> make_field_locations() {
  std::vector<FieldLocation> places;
  for (const RowKind& kind : row_kinds()) {
    add_position_embeddings(&kind, "rows", kind.place, "", places);
    add_position_embeddings(&kind, "rows", kind.fields, "", places);
    add_position_embeddings(&kind, "parameters", kind.parameters, "", places);
  }
  add_position_embeddings(nullptr, "models", model_facts(), "", places);
  for (const RowKind& kind : row_kinds()) {  // what its reports add to the common metadata
    const std::span<const Field> facts = kind.models;
    if (facts.size() <= model_facts().size()) continue;
    add_position_embeddings(&kind, "models", facts.subspan(model_facts().size()), "", places);
  }
  add_position_embeddings(nullptr, "skipped", skipped_fields(), "", places);
  return places;
}

/// Whether a flag is set, or another parameter has a value.
bool asked_for(const Record& parameters, std::string_view option) {
  const Value* value = parameters.find(option);
  if (value == nullptr) return false;
  const bool* flag = value->get<bool>();
  return flag == nullptr || *flag;
}

}  // namespace

const RowKind& find_row_kind(std::string_view name) {
  for (const RowKind& kind : row_kinds()) {
    if (kind.name == name) return kind;
  }
  throw std::out_of_range("unknown kind of row '" + std::string(name) + "'");
}

int revision_of(std::string_view name) {
  for (const RowKind& kind : row_kinds()) {
    if (kind.name == name) return kind.revision;
  }
  return 1;
}

const RowKind& row_kind_of(std::string_view command, const Record& parameters) {
  const RowKind* usual = nullptr;
  for (const RowKind& kind : row_kinds()) {
    if (kind.command != command) continue;
    if (kind.option.empty()) usual = &kind;
    if (!kind.option.empty() && asked_for(parameters, kind.option)) return kind;
  }
  if (usual != nullptr) return *usual;
  throw std::out_of_range("unknown command with rows '" + std::string(command) + "'");
}

const Field& model_fact(std::string_view name) {
  for (const Field& fact : model_facts()) {
    if (fact.name == name) return fact;
  }
  throw std::out_of_range("unknown model fact '" + std::string(name) + "'");
}

std::vector<const Field*> fields_of_rows(const RowKind& kind) {
  std::vector<const Field*> all;
  for (const Field& field : kind.place) all.push_back(&field);
  for (const Field& field : kind.fields) all.push_back(&field);
  return all;
}

std::vector<const Field*> fields_of_rows(const RowKind& kind, const Record& parameters) {
  std::vector<const Field*> fields = fields_of_rows(kind);
  std::erase_if(fields, [&](const Field* field) {
    return !field->with.empty() && !asked_for(parameters, field->with);
  });
  return fields;
}

std::string heading(std::string_view kind, std::string_view name) {
  for (const Field* field : fields_of_rows(find_row_kind(kind))) {
    if (field->name == name) return std::string(field->heading);
  }
  throw std::out_of_range("rows of '" + std::string(kind) + "' have no field '" +
                          std::string(name) + "'");
}

const std::vector<FieldLocation>& field_locations() {
  static const std::vector<FieldLocation> places = make_field_locations();
  return places;
}

std::vector<FieldLocation> find_fields(std::string_view name) {
  std::vector<FieldLocation> found;
  std::copy_if(field_locations().begin(), field_locations().end(), std::back_inserter(found),
               [&](const FieldLocation& location) {
                 return location.field->name == name || location.path == name;
               });
  return found;
}

}  // namespace attnscope
