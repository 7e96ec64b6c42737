#include "attnscope/checkpoint/quantized/compressed_scheme.h"

#include <nlohmann/json.hpp>

namespace attnscope {
namespace {

using nlohmann::json;

class SchemeReader {
 public:
  SchemeReader(const WeightParts& parts, const json& weights) : parts_(parts), weights_(weights) {}

  CompressedScheme read() const {
    CompressedScheme scheme{.bits = static_cast<int>(size("num_bits", 8).value_or(8)),
                            .is_float = text("type") == "float",
                            .strategy = text("strategy"),
                            .is_symmetric = !is_false("symmetric"),
                            .has_group_order = text("actorder") == "group"};
    constexpr std::int64_t kMax = 1'000'000'000;
    scheme.group_size = size("group_size", kMax).value_or(0);
    // What the library infers where nothing is said.
    if (scheme.strategy.empty()) scheme.strategy = scheme.group_size > 0 ? "group" : "tensor";
    const bool grouped = scheme.strategy == "group" || scheme.strategy == "tensor_group";
    if (grouped && scheme.group_size == 0) refuse("group_size");
    if (scheme.strategy == "block") {
      const auto block = weights_.find("block_structure");
      if (block == weights_.end() || !block->is_array() || block->size() != 2) {
        refuse("block_structure");
      }
      scheme.block_rows = as_size((*block)[0], "block_structure", kMax);
      scheme.block_cols = as_size((*block)[1], "block_structure", kMax);
    } else if (!grouped && scheme.strategy != "tensor" && scheme.strategy != "channel") {
      refuse("strategy");
    }
    return scheme;
  }

 private:
  [[noreturn]] void refuse(const std::string& key) const {
    parts_.refuse_config("'" + key + "' of weights is absent or not what it should be");
  }

  const json* find(const char* key) const {
    const auto found = weights_.find(key);
    return found == weights_.end() || found->is_null() ? nullptr : &*found;
  }

  std::string text(const char* key) const {
    const json* value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse(key);
    return value->get<std::string>();
  }

  bool is_false(const char* key) const {
    const json* value = find(key);
    return value != nullptr && *value == false;
  }

  std::int64_t as_size(const json& value, const char* key, std::int64_t most) const {
    if (!value.is_number_integer() || value < 1 || value > most) refuse(key);
    return value.get<std::int64_t>();
  }

  std::optional<std::int64_t> size(const char* key, std::int64_t most) const {
    const json* value = find(key);
    if (value == nullptr || *value == -1) return std::nullopt;
    return as_size(*value, key, most);
  }

  const WeightParts& parts_;
  const json& weights_;
};

}  // namespace

std::vector<CompressedScheme> read_schemes(const WeightParts& parts) {
  std::vector<CompressedScheme> schemes;
  const auto groups = parts.config().find("config_groups");
  if (groups == parts.config().end() || !groups->is_object()) return schemes;
  for (const json& group : *groups) {
    if (!group.is_object())
      parts.refuse_config("'config_groups' holds something that is no object");
    const auto weights = group.find("weights");
    if (weights == group.end() || weights->is_null()) continue;
    if (!weights->is_object()) parts.refuse_config("'weights' is no object");
    schemes.push_back(SchemeReader(parts, *weights).read());
  }
  return schemes;
}

bool is_written_per_word(const WeightParts& parts) {
  const std::string version = parts.text("version");
  if (!version.starts_with("0.")) return false;
  int minor = 0;
  for (std::size_t at = 2; at < version.size() && at < 5; ++at) {
    if (version[at] < '0' || version[at] > '9') break;
    minor = 10 * minor + (version[at] - '0');
  }
  return minor <= 15;
}

ScaleShape scale_shape(const CompressedScheme& scheme, std::int64_t rows, std::int64_t cols) {
  if (scheme.strategy == "tensor") return {{1}, rows, cols, "one scale"};
  if (scheme.strategy == "channel") return {{rows, 1}, 1, cols, "a scale for each row"};
  if (scheme.strategy == "block") {
    return {{blocks_of(rows, scheme.block_rows), blocks_of(cols, scheme.block_cols)},
            scheme.block_rows,
            scheme.block_cols,
            "scales of " + std::to_string(scheme.block_rows) + " x " +
                std::to_string(scheme.block_cols)};
  }
  return {{rows, blocks_of(cols, scheme.group_size)},
          1,
          scheme.group_size,
          "groups of " + std::to_string(scheme.group_size)};
}

}  // namespace attnscope
