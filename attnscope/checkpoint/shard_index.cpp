#include "attnscope/checkpoint/shard_index.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/core/error.h"
#include "attnscope/core/strict_json.h"

namespace attnscope {
namespace {

/// Shards lie beside their index. Anything that could name another place is refused.
bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

[[noreturn]] void refuse_index(std::string_view file, std::string problem) {
  throw Error(ErrorKind::format, {.file = std::string(file), .problem = std::move(problem)});
}

}  // namespace

std::map<std::string, std::string> parse_shard_index(std::string_view text,
                                                     std::string_view where) {
  const nlohmann::json index = parse_json(text, where);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    refuse_index(where, "has no object 'weight_map'");
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : index["weight_map"].items()) {
    if (!shard.is_string()) {
      refuse_index(where, "the shard of '" + verbatim(tensor) + "' is not a string");
    }
    const auto& name = shard.get_ref<const std::string&>();
    if (!is_plain_file_name(name)) {
      refuse_index(where, "the shard of '" + verbatim(tensor) + "' is '" + verbatim(name) +
                              "', which is not the plain name of a file beside the index");
    }
    shard_of.emplace(tensor, name);
  }
  if (shard_of.empty()) refuse_index(where, "'weight_map' is empty");
  return shard_of;
}

}  // namespace attnscope
