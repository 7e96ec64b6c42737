// Reads and checks values of a config.json by the keys that an architecture defines.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/model/architecture.h"

namespace attnscope {

/// One JSON object of the file. Null: no key is found. The JSON must outlive the reader. For a
/// value of the wrong type, throws Error(format) that names the key.
class ConfigReader {
 public:
  /// `log`: records the keys that are looked up; may be null.
  ConfigReader(const nlohmann::json* object, std::string_view where,
               std::set<std::string>* log = nullptr)
      : object_(object), where_(where), log_(log) {}

  const std::string& where() const { return where_; }
  [[noreturn]] void refuse(const std::string& problem) const;

  /// Null if the key is absent or null in the file.
  const nlohmann::json* find(const std::string& key) const;
  bool has(const std::string& key) const;  // true even if the value is null
  bool meets(const ConfigCondition& condition) const;
  ConfigReader object(const std::string& key) const;
  bool exists() const { return object_ != nullptr; }

  /// An integer from `least` to kMaxSize.
  std::optional<std::int64_t> number(const ConfigKey& key, std::int64_t least = 1) const;
  std::int64_t required(const ConfigKey& key) const;
  std::optional<double> real(const ConfigNumber& key) const;      // finite, not negative
  std::optional<double> positive(const ConfigNumber& key) const;  // finite
  std::vector<std::int64_t> numbers(const std::string& key, std::int64_t least) const;
  std::vector<double> positives(const std::string& key) const;
  bool flag(const ConfigFlag& key) const;          // null is false, as in Python
  std::string text(const std::string& key) const;  // empty if the key is absent or null
  // empty if the key is absent or null
  std::vector<std::string> texts(const std::string& key) const;

 private:
  const nlohmann::json* stored(const std::string& key) const;
  std::optional<double> finite(const ConfigNumber& key, const char* expected,
                               bool (*accepts)(double)) const;
  [[noreturn]] void refuse_value(const std::string& key, const nlohmann::json& value,
                                 const std::string& expected) const;

  const nlohmann::json* object_;
  std::string where_;
  std::set<std::string>* log_;
  std::string place_ = {};  // path of the object in the file, with a trailing dot
};

}  // namespace attnscope
