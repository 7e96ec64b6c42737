// Generation settings of a model, from generation_config.json next to the checkpoint, or from its
// config.json.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Values of one file. All functions throw Error(format) if a key has a value of the wrong type. A
/// null value counts as a missing key.
class GenerationFile {
 public:
  static GenerationFile config_of(const Model& model);
  /// Opens generation_config.json, or config.json if there is none.
  static GenerationFile of(const Model& model);

  std::optional<std::int64_t> number(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  bool flag(const char* key) const;
  /// Returns a positive number.
  double real(const char* key, double otherwise) const;
  /// Returns token ids. Negative values are not token ids and are skipped.
  TokenIds ids(const char* key) const;
  std::vector<TokenIds> runs(const char* key) const;
  /// Returns ids by name. Empty if the key is missing.
  std::optional<std::map<std::string, std::int64_t>> named_ids(const char* key) const;
  /// A position and its token, which may be open. places() returns nothing if the key is missing.
  struct Place {
    std::int64_t at = 0;
    std::optional<std::int64_t> token;
  };
  std::optional<std::vector<Place>> places(const char* key) const;

  /// Throws Error(format) for this key.
  [[noreturn]] void refuse(const char* key, const std::string& expected) const;

 private:
  GenerationFile(const std::string& text, std::string file);
  /// Returns the value of a key. Null if the key is missing or its value is null.
  const nlohmann::json* find(const char* key) const;
  std::int64_t number_of(const nlohmann::json& value, const char* key) const;

  std::shared_ptr<const nlohmann::json> object_;
  std::string file_;
};

}  // namespace attnscope
