// JSON from files that may be hostile. Include it only from .cpp files, as its type is the JSON
// library's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace attnscope {

/// Parses one JSON document. Refuses duplicate keys, nesting deeper than 64 and trailing text.
/// Throws Error(format) that names `file` and the `place` in it, such as "header"; an empty place
/// means the whole file.
nlohmann::json parse_json(std::string_view text, std::string_view file,
                          std::string_view place = "");

}  // namespace attnscope
