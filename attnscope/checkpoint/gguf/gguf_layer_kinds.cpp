#include "attnscope/checkpoint/gguf/gguf_layer_kinds.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"

namespace attnscope {
namespace {

using nlohmann::json;

class Sizes {
 public:
  Sizes(const GgufFile& file, const GgufFamily& family, std::size_t layers)
      : file_(file), family_(family), layers_(layers) {
    windowed_ = file.flags(family_key(family, "attention.sliding_window_pattern"))
                    .value_or(std::vector<bool>(layers, false));
    check_length("attention.sliding_window_pattern", windowed_.size());
  }

  /// One for each layer, be it kept as a list or not; empty where the file does not say.
  std::vector<std::int64_t> of_layers(std::string_view key) const {
    const std::string name = family_key(family_, key);
    const auto found = file_.values.find(name);
    if (found == file_.values.end()) return {};
    if (!std::holds_alternative<GgufArray>(found->second)) {
      return std::vector<std::int64_t>(layers_, file_.whole(name).value());
    }
    std::vector<std::int64_t> listed = file_.wholes(name).value();
    check_length(key, listed.size());
    return listed;
  }

  /// That of all layers of a kind; null where there is none. Throws Error(unsupported) where they
  /// differ.
  json of_kind(std::string_view key, bool windowed) const {
    const std::vector<std::int64_t> all = of_layers(key);
    json out;
    for (std::size_t layer = 0; layer < all.size(); ++layer) {
      if (windowed_[layer] != windowed) continue;
      if (!out.is_null() && out != all[layer]) {
        throw Error(ErrorKind::unsupported,
                    {.file = file_.name,
                     .problem = "layers of one kind differ in '" +
                                verbatim(family_key(family_, key)) + "', which is not read"});
      }
      out = all[layer];
    }
    return out;
  }

 private:
  void check_length(std::string_view key, std::size_t listed) const {
    if (listed >= layers_) return;
    file_.refuse("'" + family_key(family_, key) + "' lists " + std::to_string(listed) + " of " +
                 counted(layers_, "layer"));
  }

  const GgufFile& file_;
  const GgufFamily& family_;
  std::size_t layers_;
  std::vector<bool> windowed_;
};

}  // namespace

void add_sizes_by_kind(json& config, const GgufFile& file, const GgufFamily& family,
                       const GgufFacts& facts) {
  const auto put = [&](const char* name, const json& value) {
    if (!value.is_null()) config[name] = value;
  };
  const Sizes sizes(file, family, config["num_hidden_layers"].get<std::size_t>());
  put("head_dim", sizes.of_kind("attention.key_length_swa", true));
  put("global_head_dim", sizes.of_kind("attention.key_length", false));
  put("num_key_value_heads", sizes.of_kind("attention.head_count_kv", true));
  put("num_global_key_value_heads", sizes.of_kind("attention.head_count_kv", false));
  config["attention_k_eq_v"] = facts.values_are_keys;
  const std::vector<std::int64_t> widths = sizes.of_layers("feed_forward_length");
  if (widths.empty()) file.refuse("has no '" + family_key(family, "feed_forward_length") + "'");
  config["intermediate_size"] = widths.front();
  config["use_double_wide_mlp"] = widths.back() != widths.front();
}

json rope_by_kind(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts) {
  const auto base = [&](const char* key, double usual) {
    return file.number(family_key(family, key)).value_or(usual);
  };
  const std::vector<float>& divisors = facts.rope_divisors;
  const auto turned = std::count(divisors.begin(), divisors.end(), 1.0F);
  const double share =
      divisors.empty() ? 0.25 : static_cast<double>(turned) / static_cast<double>(divisors.size());
  return {{"full_attention",
           {{"rope_type", "proportional"},
            {"rope_theta", base("rope.freq_base", 1000000)},
            {"partial_rotary_factor", share}}},
          {"sliding_attention",
           {{"rope_type", "default"}, {"rope_theta", base("rope.freq_base_swa", 10000)}}}};
}

}  // namespace attnscope
