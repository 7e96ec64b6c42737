// Access to the values of an adapter_config.json by name, with checked types.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/adapters/adapter_config.h"
#include "attnscope/base/error.h"
#include "attnscope/checkpoint/checkpoint_folder.h"

namespace attnscope {

/// Every function throws Error(format) with the name of a value of another type.
class AdapterConfigFile {
 public:
  /// Throws Error(format) unless the file is a JSON object of finite numbers.
  explicit AdapterConfigFile(const CheckpointFolder& folder);

  const std::string& file() const { return file_; }
  const std::string& text() const { return text_; }
  const nlohmann::json& json() const { return *config_; }

  [[noreturn]] void refuse(ErrorKind kind, const std::string& problem) const;

  /// Null if the file has no such option.
  const nlohmann::json& value(const char* name) const;
  /// Whether the option has a value other than null, false or empty.
  bool is_given(const char* name) const;
  std::vector<std::string> given_names() const;

  bool flag(const char* name, bool usual = false) const;
  double finite(const char* name) const;
  double finite(const char* name, double usual) const;
  std::int64_t positive(const char* name) const;
  std::int64_t whole(const char* name, std::int64_t usual) const;
  std::vector<PatternNumber> pattern_numbers(const char* name, bool whole) const;
  std::vector<std::string> texts(const char* name) const;
  ModuleNames modules(const char* name) const;
  std::vector<std::int64_t> indices(const nlohmann::json& found, const std::string& name) const;

 private:
  double number(const nlohmann::json& found, const std::string& name, bool whole) const;

  std::string text_, file_;
  std::shared_ptr<const nlohmann::json> config_;
};

}  // namespace attnscope
