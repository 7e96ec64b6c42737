// Descriptions of commands and fields as dicts. attnscope/_commands.py and its docstrings are
// generated from them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>

#include "attnscope/base/error.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/features/common/options/device_options.h"
#include "attnscope/features/framework/command.h"
#include "attnscope/rows/field.h"
#include "python/src/bindings.h"
#include "python/src/columns.h"

namespace attnscope::python {
namespace {

/// In the order of ParameterType.
constexpr std::array kTypeNames = {"flag",     "integer", "bytes",  "choice", "several",
                                   "role",     "roles",   "layers", "head",   "heads",
                                   "receiver", "shares",  "ranks",  "bins",   "range",
                                   "text",     "texts",   "file",   "models"};
static_assert(kTypeNames.size() == static_cast<std::size_t>(ParameterType::models) + 1);

/// In the order of FieldForm.
constexpr std::array kFormNames = {"single",       "list",    "matrix",
                                   "by_threshold", "by_rank", "by_fraction"};
static_assert(kFormNames.size() == static_cast<std::size_t>(FieldForm::by_fraction) + 1);

std::string bare(std::string_view text) {
  return spell_parameters(text, [](std::string_view name) { return std::string(name); });
}

nb::dict parameter_dict(const Parameter& parameter) {
  nb::dict out;
  out["name"] = parameter.name;
  out["type"] = kTypeNames[static_cast<std::size_t>(parameter.type)];
  out["help"] = bare(full_help(parameter));
  out["choices"] = parameter.choices;
  out["implied_text"] = parameter.implied_text;
  out["metavariable"] = parameter.metavariable;
  out["positional"] = parameter.positional;
  out["is_of_device"] = is_of_device(parameter);
  out["needed"] = !parameter.missing.empty() && parameter.not_needed_with.empty();
  return out;
}

nb::list parameters_list(const Command& command) {
  nb::list out;
  for (const Parameter& parameter : command.parameters) out.append(parameter_dict(parameter));
  return out;
}

nb::dict field_dict(const Field& field) {
  nb::dict out;
  out["name"] = std::string(field.name);
  out["heading"] = std::string(field.heading);
  out["meaning"] = std::string(field.meaning);
  out["unit"] = std::string(field.unit);
  out["with"] = std::string(field.with);
  out["optional"] = field.optional;
  out["form"] = kFormNames[static_cast<std::size_t>(field.form)];
  out["keys"] = std::vector<std::string>(field.columns.begin(), field.columns.end());
  nb::list inner;
  for (const Field& part : field.fields) inner.append(field_dict(part));
  out["fields"] = inner;
  return out;
}

nb::list fields_list(const RowKind& kind) {
  nb::list out;
  for (const Field* field : fields_of_rows(kind)) {
    nb::dict entry = field_dict(*field);
    entry["is_place"] = out.size() < kind.place.size();
    out.append(entry);
  }
  return out;
}

/// Returns the kinds of rows of a command, the default kind first.
nb::list kinds_list(const Command& command) {
  nb::list out;
  for (const RowKind& kind : row_kinds()) {
    if (kind.command != command.name) continue;
    nb::dict entry;
    entry["name"] = std::string(kind.name);
    entry["option"] = std::string(kind.option);
    entry["meaning"] = std::string(kind.meaning);
    entry["fields"] = fields_list(kind);
    entry["has_scope"] = mixes_scopes(kind);
    out.append(entry);
  }
  return out;
}

nb::list command_list() {
  nb::list out;
  for (const Command& command : commands()) {
    nb::dict entry;
    entry["name"] = command.name;
    entry["summary"] = bare(command.summary);
    entry["parameters"] = parameters_list(command);
    entry["gives_rows"] = command.run != nullptr;
    entry["has_items"] = !command.analyses.empty();
    entry["kinds"] = kinds_list(command);
    out.append(entry);
  }
  return out;
}

}  // namespace

void bind_descriptions(nb::module_& module) {
  module.def("commands", &command_list, nb::sig("def commands() -> list[dict[str, typing.Any]]"),
             "Return every command with its parameters and kinds of rows.");
}

}  // namespace attnscope::python
