#include "attnscope/forward/generation/generation_config.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::uint64_t kFileLimitBytes = 10'000'000;

}  // namespace

GenerationFile::GenerationFile(const std::string& text, std::string file)
    : object_(std::make_shared<const json>(parse_python_json(text, file))),
      file_(std::move(file)) {}

GenerationFile GenerationFile::config_of(const Model& model) {
  return {model.spec().text, model.spec().source};
}

GenerationFile GenerationFile::of(const Model& model) {
  constexpr const char* kName = "generation_config.json";
  const CheckpointFolder& folder = model.checkpoint().folder();
  if (!folder.has(kName)) return config_of(model);
  return {folder.read_text(kName, kFileLimitBytes), folder.place_of(kName)};
}

std::optional<std::int64_t> GenerationFile::number(const char* key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return number_of(*value, key);
}

std::optional<std::string> GenerationFile::text(const char* key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse(key, "a string");
  return value->get<std::string>();
}

bool GenerationFile::flag(const char* key) const {
  const json* value = find(key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

double GenerationFile::real(const char* key, double otherwise) const {
  const json* value = find(key);
  if (value == nullptr) return otherwise;
  const double number = value->is_number() ? value->get<double>() : 0;
  if (!(number > 0) || std::isinf(number)) refuse(key, "a positive number");
  return number;
}

TokenIds GenerationFile::ids(const char* key) const {
  const json* value = find(key);
  if (value == nullptr) return {};
  if (!value->is_array()) refuse(key, "a list of token ids");
  TokenIds out;
  for (const json& id : *value) {
    if (id.is_number_integer() && !id.is_number_unsigned()) continue;
    out.push_back(number_of(id, key));
  }
  return out;
}

std::vector<TokenIds> GenerationFile::runs(const char* key) const {
  const json* value = find(key);
  std::vector<TokenIds> out;
  if (value == nullptr) return out;
  if (!value->is_array()) refuse(key, "a list of lists of token ids");
  for (const json& run : *value) {
    if (!run.is_array() || run.empty()) refuse(key, "a list of lists of token ids");
    TokenIds& ids = out.emplace_back();
    for (const json& id : run) ids.push_back(number_of(id, key));
  }
  return out;
}

std::optional<std::map<std::string, std::int64_t>> GenerationFile::named_ids(
    const char* key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) refuse(key, "an object that maps names to token ids");
  std::map<std::string, std::int64_t> out;
  for (const auto& [name, id] : value->items()) out.emplace(name, number_of(id, key));
  return out;
}

std::optional<std::vector<GenerationFile::Place>> GenerationFile::places(const char* key) const {
  const json* value = find(key);
  if (value == nullptr) return std::nullopt;
  constexpr const char* kExpected = "a list of [position, token] pairs";
  if (!value->is_array()) refuse(key, kExpected);
  std::vector<Place> out;
  for (const json& pair : *value) {
    if (!pair.is_array() || pair.size() != 2) refuse(key, kExpected);
    Place& place = out.emplace_back();
    place.at = number_of(pair[0], key);
    if (!pair[1].is_null()) place.token = number_of(pair[1], key);
  }
  return out;
}

void GenerationFile::refuse(const char* key, const std::string& expected) const {
  throw Error(ErrorKind::format,
              {.file = file_, .problem = "'" + std::string(key) + "' is not " + expected});
}

const json* GenerationFile::find(const char* key) const {
  if (!object_->is_object() || !object_->contains(key)) return nullptr;
  const json& value = object_->at(key);
  return value.is_null() ? nullptr : &value;
}

std::int64_t GenerationFile::number_of(const json& value, const char* key) const {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{kMaxSize}) {
    refuse(key, "a non-negative integer");
  }
  return value.get<std::int64_t>();
}

}  // namespace attnscope
