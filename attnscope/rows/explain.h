// What fields mean, for people and for programs.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"

namespace attnscope {

/// Every field of that name, with type, unit, meaning and where it stands; of no name, all fields,
/// a line each. Throws Error(usage) naming the parameter "field" where there is none.
void write_explanation(std::string_view name, const SpellParameter& spell, std::ostream& out);

/// The same descriptions as one JSON object, a line for each field; null stands for what does not
/// apply.
void write_explanation_json(std::string_view name, std::ostream& out);

// The JSON Schema of what every command prints with `--format json`.

/// Draft 2020-12, made from the descriptions of fields; docs/schema/ has a copy.
std::string json_schema_text();

}  // namespace attnscope
