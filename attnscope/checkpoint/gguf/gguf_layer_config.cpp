#include "attnscope/checkpoint/gguf/gguf_layer_config.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

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

  /// Returns one value per layer, whether stored as a list or not; empty if the file does not
  /// specify it.
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

  /// Returns the value shared by all layers of a type; null if there is none. Throws
  /// Error(unsupported) if they differ.
  json of_kind(std::string_view key, bool windowed) const {
    const std::vector<std::int64_t> all = of_layers(key);
    json out;
    for (std::size_t layer = 0; layer < all.size(); ++layer) {
      if (windowed_[layer] != windowed) continue;
      if (!out.is_null() && out != all[layer]) {
        throw Error(ErrorKind::unsupported,
                    {.file = file_.name,
                     .problem = "layers of one type differ in '" +
                                verbatim(family_key(family_, key)) + "', which is not supported"});
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

namespace {

using nlohmann::json;

json of_full_layers(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts,
                    const GgufHeads& heads) {
  const auto number = [&](std::string_view key) { return file.number(family_key(family, key)); };
  json rope = {{"rope_type", "default"},
               {"rope_theta", number("rope.freq_base").value_or(family.base)}};
  if (family.partly_rotary) {
    const auto rotated = file.whole(family_key(family, "rope.dimension_count"));
    const auto head_dim = static_cast<double>(heads.head_dim);
    rope["partial_rotary_factor"] = rotated ? static_cast<double>(*rotated) / head_dim : 1.0;
  }
  if (!facts.long_divisors.empty()) {
    rope["rope_type"] = "longrope";
    rope["long_factor"] = facts.long_divisors;
    rope["short_factor"] = facts.short_divisors;
    return rope;
  }
  if (!facts.rope_divisors.empty()) {
    // The effect of Llama 3's scaling: frequencies with individual divisors, which is what longrope
    // is, too.
    rope["rope_type"] = "longrope";
    rope["long_factor"] = rope["short_factor"] = facts.rope_divisors;
    rope["attention_factor"] = 1;
    return rope;
  }
  const auto kind = file.text(family_key(family, "rope.scaling.type")).value_or("none");
  const auto factor = number("rope.scaling.factor");
  if (kind != "none" && kind != "longrope" && factor && *factor > 0) {
    rope["rope_type"] = kind;
    rope["factor"] = *factor;
    const auto original = file.whole(family_key(family, "rope.scaling.original_context_length"));
    if (original) rope["original_max_position_embeddings"] = *original;
    const auto copy = [&](const char* ours, std::string_view theirs) {
      const auto value = number(theirs);
      if (value && *value > 0) rope[ours] = *value;
    };
    copy("beta_fast", "rope.scaling.yarn_beta_fast");
    copy("beta_slow", "rope.scaling.yarn_beta_slow");
    copy("attention_factor", "rope.scaling.yarn_attn_factor");
    // All published models have the same number twice. For DeepSeek, the converter writes a tenth
    // of it.
    const auto multiplier = number("rope.scaling.yarn_log_multiplier");
    if (multiplier) {
      rope["mscale"] = rope["mscale_all_dim"] = *multiplier * (family.mla ? 10 : 1);
    }
    const auto growth = number("attention.temperature_scale");
    if (growth) rope["llama_4_scaling_beta"] = *growth;
    if (!family.rope_assumed.empty()) rope.update(json::parse(family.rope_assumed));
  }
  return rope;
}

/// For layers with a window, which are never scaled.
json windowed_rope(const GgufFile& file, const GgufFamily& family, const json& full) {
  json rope = {{"rope_type", "default"}, {"rope_theta", 10000}};
  // In Olmo 3, they have the same base as the others.
  if (!family.base_by_kind) rope["rope_theta"] = full["rope_theta"];
  const auto own = file.number(family_key(family, "rope.freq_base_swa"));
  if (own) rope["rope_theta"] = *own;
  return rope;
}

}  // namespace

json rope_parameters(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts,
                     const GgufHeads& heads) {
  const json full = of_full_layers(file, family, facts, heads);
  if (!family.rope_by_kind && !family.base_by_kind) return full;
  return {{"full_attention", full}, {"sliding_attention", windowed_rope(file, family, full)}};
}

}  // namespace attnscope
