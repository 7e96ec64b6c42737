#include "attnscope/core/strict_json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "attnscope/core/error.h"

namespace attnscope {

nlohmann::json parse_json(std::string_view text, std::string_view file, std::string_view place) {
  using nlohmann::json;
  constexpr int kMaxDepth = 64;
  std::vector<std::set<std::string>> keys_of_open_objects;
  const auto error_saying = [&](const std::string& problem) {
    return Error(ErrorKind::format,
                 {.file = std::string(file), .place = std::string(place), .problem = problem});
  };

  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kMaxDepth) {  // `depth` does not count what opens here
      throw error_saying("JSON is nested deeper than 64 levels");
    }
    if (event == json::parse_event_t::object_start) {
      keys_of_open_objects.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys_of_open_objects.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_of_open_objects.back().insert(key).second) {
        throw error_saying("duplicate key '" + verbatim(key) + "' in JSON");
      }
    }
    return true;
  };

  // The library takes a NUL for the end of the text and would not look at what follows.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    throw error_saying("not JSON (at byte " + std::to_string(nul + 1) + ")");
  }
  try {
    return json::parse(text, watch);
  } catch (const json::parse_error& error) {
    throw error_saying("not JSON (at byte " + std::to_string(error.byte) + ")");
  } catch (const json::exception&) {
    // A number past float64's range.
    throw error_saying("JSON holds a number out of range");
  }
}

}  // namespace attnscope
