// JSON from files that may be hostile. Include only from .cpp files: it shows the JSON library.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace attnscope {

/// Parses one JSON document. Refuses duplicate keys, nesting deeper than 64 and trailing text.
/// Throws Error(format) that names `file`, and `place` in it: "header"; empty for the whole file.
nlohmann::json parse_json(std::string_view text, std::string_view file,
                          std::string_view place = "");

}  // namespace attnscope
