// JSON from files that may be hostile. Include it only from .cpp files, as its type is the JSON
// library's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attnscope {

/// Parses one JSON document in linear time. Refuses duplicate keys, nesting deeper than 64 and
/// trailing text. Throws Error(format) that names `file` and the `place` in it, such as "header";
/// an empty place means the whole file.
nlohmann::json parse_json(std::string_view text, std::string_view file,
                          std::string_view place = "");

/// The same for files that Python's json writes, such as config.json: numbers may also be NaN,
/// Infinity and -Infinity. A reader that takes such a number as a setting must refuse it.
nlohmann::json parse_python_json(std::string_view text, std::string_view file);

/// The document as Python's json writes it, with these names; in ASCII. `indent` < 0: in one line.
std::string python_json_text(const nlohmann::json& value, int indent = -1);

}  // namespace attnscope
