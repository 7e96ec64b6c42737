#include "attnscope/model/config/config_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {

using nlohmann::json;

/// For a list of strings, every layer stores its own copy.
constexpr std::size_t kMaxValues = 1024;

void ConfigReader::refuse(const std::string& problem) const {
  throw Error(ErrorKind::format, {.file = where_, .problem = problem});
}

void ConfigReader::refuse_value(const std::string& key, const json& value,
                                const std::string& expected) const {
  refuse("'" + key + "' is " + verbatim(python_json_text(value)) + ", expected " + expected);
}

const json* ConfigReader::stored(const std::string& key) const {
  if (object_ == nullptr || key.empty()) return nullptr;
  if (log_ != nullptr) log_->insert(place_ + key);
  const auto found = object_->find(key);
  if (found != object_->end()) return &*found;
  const auto dot = key.find('.');
  return dot == std::string::npos ? nullptr
                                  : object(key.substr(0, dot)).stored(key.substr(dot + 1));
}

const json* ConfigReader::find(const std::string& key) const {
  const json* found = stored(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool ConfigReader::has(const std::string& key) const { return stored(key) != nullptr; }

bool ConfigReader::meets(const ConfigCondition& condition) const {
  const json* found = stored(condition.key);
  if (found == nullptr || condition.values.empty()) return found != nullptr;
  const std::string value = python_json_text(*found);
  return std::any_of(
      condition.values.begin(), condition.values.end(),
      [&](const std::string& pattern) { return match_pattern(pattern, value).has_value(); });
}

ConfigReader ConfigReader::object(const std::string& key) const {
  const json* found = find(key);
  if (found != nullptr && !found->is_object()) refuse_value(key, *found, "an object");
  ConfigReader own(found, where_, log_);
  own.place_ = place_ + key + ".";
  return own;
}

std::optional<std::int64_t> ConfigReader::number(const ConfigKey& key, std::int64_t least) const {
  if (find(key.other_name) != nullptr) return number({key.other_name}, least);
  if (!has(key.name)) return key.fallback;
  const json* found = find(key.name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number_integer() || found->get<std::int64_t>() < least ||
      found->get<std::int64_t>() > kMaxSize) {
    refuse_value(
        key.name, *found,
        "a whole number from " + std::to_string(least) + " to " + std::to_string(kMaxSize));
  }
  return found->get<std::int64_t>();
}

std::int64_t ConfigReader::required(const ConfigKey& key) const {
  const auto value = number(key);
  if (!value) refuse("has no '" + key.name + "'");
  return *value;
}

std::optional<double> ConfigReader::finite(const ConfigNumber& key, const char* expected,
                                           bool (*accepts)(double)) const {
  if (!has(key.name)) return key.fallback;
  const json* found = find(key.name);
  if (found == nullptr) return std::nullopt;
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!std::isfinite(value) || !accepts(value)) refuse_value(key.name, *found, expected);
  return value;
}

std::optional<double> ConfigReader::real(const ConfigNumber& key) const {
  return finite(key, "a non-negative number", [](double value) { return value >= 0; });
}

std::optional<double> ConfigReader::positive(const ConfigNumber& key) const {
  return finite(key, "a positive number", [](double value) { return value > 0; });
}

std::vector<double> ConfigReader::positives(const std::string& key) const {
  const json* found = find(key);
  if (found == nullptr) return {};
  if (!found->is_array()) refuse_value(key, *found, "a list of positive numbers");
  if (found->size() > kMaxValues) {
    refuse("'" + key + "' contains more than " + std::to_string(kMaxValues) + " numbers");
  }
  std::vector<double> values;
  for (const json& value : *found) {
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number > 0) || std::isinf(number)) {
      refuse_value(key, *found, "a list of positive numbers");
    }
    values.push_back(number);
  }
  return values;
}

std::vector<std::int64_t> ConfigReader::numbers(const std::string& key, std::int64_t least) const {
  const json* found = find(key);
  if (found == nullptr) return {};
  const std::string expected =
      "a list of integers from " + std::to_string(least) + " to " + std::to_string(kMaxSize);
  if (!found->is_array()) refuse_value(key, *found, expected);
  std::vector<std::int64_t> values;
  for (const json& value : *found) {
    if (!value.is_number_integer() || value.get<double>() < static_cast<double>(least) ||
        value.get<double>() > static_cast<double>(kMaxSize)) {
      refuse_value(key, *found, expected);
    }
    values.push_back(value.get<std::int64_t>());
  }
  return values;
}

bool ConfigReader::flag(const ConfigFlag& key) const {
  if (has(key.other_name)) return flag({key.other_name, key.fallback});
  if (!has(key.name)) return key.fallback;
  const json* found = find(key.name);
  if (found == nullptr) return false;
  if (!found->is_boolean()) refuse_value(key.name, *found, "true or false");
  return found->get<bool>();
}

std::string ConfigReader::text(const std::string& key) const {
  const json* found = find(key);
  if (found == nullptr) return "";
  if (!found->is_string()) refuse_value(key, *found, "a string");
  constexpr std::size_t kLongest = 1000;  // each layer may store a copy
  const auto& text = found->get_ref<const std::string&>();
  if (text.size() > kLongest) {
    refuse("'" + key + "' has " + counted(text.size(), "byte") + ", expected " +
           std::to_string(kLongest) + " at most");
  }
  return text;
}

std::vector<std::string> ConfigReader::texts(const std::string& key) const {
  const json* found = find(key);
  if (found == nullptr) return {};
  const auto is_text = [](const json& value) { return value.is_string(); };
  if (!found->is_array() || !std::all_of(found->begin(), found->end(), is_text)) {
    refuse_value(key, *found, "a list of strings");
  }
  return found->get<std::vector<std::string>>();
}

}  // namespace attnscope
