// Explains fields, for people and for programs.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"

namespace attnscope {

/// Writes every field of that name, with type, unit, meaning and location. Without a name, lists
/// all fields, one line each. Throws Error(usage) naming the parameter "field" if there is no such
/// field.
void write_explanation(std::string_view name, const SpellParameter& spell, std::ostream& out);

/// The same descriptions as one JSON object, one line per field; properties that do not apply are
/// null.
void write_explanation_json(std::string_view name, std::ostream& out);

// The JSON Schema of the output of every command with `--format json`.

/// Draft 2020-12, generated from the descriptions of fields; docs/schema/ has a copy.
std::string json_schema_text();

}  // namespace attnscope
