// The JSON Schema of what every command prints with `--format json`.
#pragma once

#include <string>

namespace attnscope {

/// Draft 2020-12, made from the descriptions of fields; docs/schema/ has a copy.
std::string json_schema_text();

}  // namespace attnscope
