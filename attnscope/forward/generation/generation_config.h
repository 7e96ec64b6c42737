// What a model's files say of the text that it writes: generation_config.json beside the
// checkpoint, or its config.json.
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

/// Values of one file. Each throws Error(format) where its key has another kind of value; null
/// stands for a key that is not there.
class GenerationFile {
 public:
  static GenerationFile config_of(const Model& model);
  /// generation_config.json; config.json where there is none.
  static GenerationFile of(const Model& model);

  std::optional<std::int64_t> number(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  bool flag(const char* key) const;
  /// Positive.
  double real(const char* key, double otherwise) const;
  /// Token ids. Negative ones, which are of no token, are left out.
  TokenIds ids(const char* key) const;
  std::vector<TokenIds> runs(const char* key) const;
  /// Ids by their names; none where the key is not there.
  std::optional<std::map<std::string, std::int64_t>> named_ids(const char* key) const;
  /// Pairs of a place and the token there, which may be left open; none where the key is not there.
  struct Place {
    std::int64_t at = 0;
    std::optional<std::int64_t> token;
  };
  std::optional<std::vector<Place>> places(const char* key) const;

  /// Throws Error(format) of that key.
  [[noreturn]] void refuse(const char* key, const std::string& expected) const;

 private:
  GenerationFile(const std::string& text, std::string file);
  /// Null where there is none, or it is null.
  const nlohmann::json* find(const char* key) const;
  std::int64_t number_of(const nlohmann::json& value, const char* key) const;

  std::shared_ptr<const nlohmann::json> object_;
  std::string file_;
};

}  // namespace attnscope
