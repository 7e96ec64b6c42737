#include "attnscope/checkpoint/gguf/gguf_rope.h"

#include <nlohmann/json.hpp>

namespace attnscope {
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
    // What is left of Llama 3's scaling. Frequencies divided one by one is what longrope is too.
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
    // All published models have this number twice. Of DeepSeek's, the converter writes a tenth.
    const auto multiplier = number("rope.scaling.yarn_log_multiplier");
    if (multiplier) {
      rope["mscale"] = rope["mscale_all_dim"] = *multiplier * (family.latent ? 10 : 1);
    }
    const auto growth = number("attention.temperature_scale");
    if (growth) rope["llama_4_scaling_beta"] = *growth;
    if (!family.rope_assumed.empty()) rope.update(json::parse(family.rope_assumed));
  }
  return rope;
}

/// Of layers with a window, which are never scaled.
json windowed_rope(const GgufFile& file, const GgufFamily& family, const json& full) {
  json rope = {{"rope_type", "default"}, {"rope_theta", 10000}};
  // Olmo 3's have the same base as the others.
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
