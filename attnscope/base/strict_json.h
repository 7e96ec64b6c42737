// JSON from untrusted files. Include this header only from .cpp files, because its type belongs to
// the JSON library.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attnscope {

/// Parses one JSON document in linear time. Rejects duplicate keys, nesting deeper than 64 levels,
/// and trailing text. Throws Error(format) that names `file` and the `place` in it, such as
/// "header". An empty place means the whole file.
nlohmann::json parse_json(std::string_view text, std::string_view file,
                          std::string_view place = "");

/// Parses files written by Python's json module, such as config.json: numbers may also be NaN,
/// Infinity and -Infinity. Readers must reject such a number if they use it as a setting.
nlohmann::json parse_python_json(std::string_view text, std::string_view file);

/// Returns the document as Python's json module writes it, with these names for numbers, in ASCII.
/// `indent` < 0: on one line.
std::string python_json_text(const nlohmann::json& value, int indent = -1);

}  // namespace attnscope
