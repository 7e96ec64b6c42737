#include "attnscope/checkpoint/gguf/gguf_config.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/gguf/gguf_layer_config.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::string_view kWindowPattern = "attention.sliding_window_pattern";
constexpr std::string_view kKvHeads = "attention.head_count_kv";

[[noreturn]] void refuse_differing(const GgufFile& file, const std::string& key) {
  throw Error(ErrorKind::unsupported,
              {.file = file.name,
               .problem = "layers differ in '" + verbatim(key) + "', which is not supported"});
}

/// Reads an integer, or a list with one equal integer per layer.
std::optional<std::int64_t> size_at(const GgufFile& file, const std::string& key) {
  const auto found = file.values.find(key);
  if (found == file.values.end()) return std::nullopt;
  if (!std::holds_alternative<GgufArray>(found->second)) return file.whole(key);
  const auto list = file.wholes(key).value();
  if (list.empty()) return std::nullopt;
  if (std::any_of(list.begin(), list.end(), [&](std::int64_t own) { return own != list[0]; })) {
    refuse_differing(file, key);
  }
  return list.front();
}

std::int64_t required_size(const GgufFile& file, const std::string& key) {
  const auto size = size_at(file, key);
  if (!size || *size == 0) file.refuse("has no '" + verbatim(key) + "'");
  return *size;
}

/// Returns the number of key/value heads per layer, if the file lists them.
std::optional<std::vector<std::int64_t>> listed_kv_heads(const GgufFile& file,
                                                         const GgufFamily& family) {
  const std::string key = family_key(family, kKvHeads);
  const auto found = file.values.find(key);
  if (found == file.values.end() || !std::holds_alternative<GgufArray>(found->second)) {
    return std::nullopt;
  }
  return file.wholes(key);
}

/// Returns the number of key/value heads of a layer. If some layers have no attention: of a layer
/// with attention.
std::optional<std::int64_t> kv_heads_of(const GgufFile& file, const GgufFamily& family) {
  const std::string key = family_key(family, kKvHeads);
  const auto listed = listed_kv_heads(file, family);
  if (family.sizes_by_kind && listed && !listed->empty()) return listed->front();
  if (family.kind_without_kv.empty() || !listed) return size_at(file, key);
  std::optional<std::int64_t> out;
  for (const std::int64_t own : *listed) {
    if (own == 0) continue;
    if (out && own != *out) refuse_differing(file, key);
    out = own;
  }
  return out.value_or(0);
}

/// DeepSeek-V2 and V3 select among groups of experts. Older files do not specify the groups.
void add_expert_groups(json& config, const GgufFamily& family, std::vector<std::string>& notes) {
  const auto experts = config.value("n_routed_experts", std::int64_t{0});
  if (!config.contains("n_group")) {
    const bool large = family.published_groups && (experts == 160 || experts == 256);
    config["n_group"] = large ? 8 : 1;
    config["topk_group"] = !large ? 1 : experts == 160 ? 3 : 4;
    if (large) {
      notes.push_back("assuming that its " + std::to_string(experts) +
                      " experts are grouped as in the published models");
    }
  }
  const bool grouped = config["n_group"] != 1;
  config["topk_method"] = grouped ? "group_limited_greedy" : "greedy";
}

void add_mla_sizes(json& config, const GgufFile& file, const GgufFamily& family,
                   const GgufFacts& facts, const GgufHeads& heads) {
  const auto either = [&](std::string_view own, std::string_view older) {
    const auto size = size_at(file, family_key(family, own));
    return size ? size : size_at(file, family_key(family, older));
  };
  const auto key = either("attention.key_length_mla", "attention.key_length");
  if (!key) file.refuse("has no '" + family_key(family, "attention.key_length") + "'");
  const auto rotary = required_size(file, family_key(family, "rope.dimension_count"));
  if (rotary >= *key) {
    file.refuse("keys of " + counted(*key, "dimension") +
                " leave no dimensions without RoPE next to " + std::to_string(rotary) +
                " rotary dimensions");
  }
  config["qk_rope_head_dim"] = rotary;
  config["qk_nope_head_dim"] = *key - rotary;
  const auto value = either("attention.value_length_mla", "attention.value_length");
  // Files of MiniCPM3 do not specify it.
  if (value || facts.values_width) {
    config["v_head_dim"] = value ? *value : *facts.values_width / heads.heads;
  }
}

/// Falcon's variants, by the numbers of heads.
void add_falcon_layout(json& config, const GgufFacts& facts, const GgufHeads& heads) {
  const bool two_norms = config["num_ln_in_parallel_attn"] == 2;
  config["multi_query"] = heads.kv_heads == 1;
  config["num_kv_heads"] = heads.kv_heads;
  config["new_decoder_architecture"] =
      two_norms || (heads.kv_heads != 1 && heads.kv_heads != heads.heads);
  if (config["new_decoder_architecture"] == false) config["num_ln_in_parallel_attn"] = nullptr;
  config["bias"] = facts.attention_bias;
}

void check_listed(const GgufFile& file, const std::string& key, std::size_t listed,
                  std::int64_t layers) {
  if (static_cast<std::int64_t>(listed) >= layers) return;
  file.refuse("'" + key + "' lists " + std::to_string(listed) + " of " + counted(layers, "layer"));
}

/// The type of each layer, if the file lists which layers have a window or attention.
void add_layer_types(json& config, const GgufFile& file, const GgufFamily& family,
                     std::int64_t layers) {
  const std::string windows = family_key(family, kWindowPattern);
  const auto windowed = file.flags(windows);
  const auto kv_heads = listed_kv_heads(file, family);
  json types = json::array();
  if (windowed) {
    check_listed(file, windows, windowed->size(), layers);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      types.push_back((*windowed)[static_cast<std::size_t>(layer)] ? "sliding_attention"
                                                                   : "full_attention");
    }
  } else if (kv_heads && !family.kind_without_kv.empty()) {
    check_listed(file, family_key(family, kKvHeads), kv_heads->size(), layers);
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const bool attends = (*kv_heads)[static_cast<std::size_t>(layer)] > 0;
      types.push_back(attends ? "full_attention" : std::string(family.kind_without_kv));
    }
  } else {
    return;
  }
  config["layer_types"] = types;
}

/// Sets a value at a key. A dot in the key leads into an object.
void put(json& config, std::string_view key, json value) {
  const std::size_t dot = key.find('.');
  if (dot == std::string_view::npos) {
    config[std::string(key)] = std::move(value);
  } else {
    config[std::string(key.substr(0, dot))][std::string(key.substr(dot + 1))] = std::move(value);
  }
}

/// Gemma 2 and 3 divide scores by the square root of this size, which files do not specify. Only
/// the largest model of each differs from the others. llama.cpp also recognizes it by its number of
/// layers.
std::int64_t score_dimension(const GgufFamily& family, std::int64_t layers,
                             const GgufHeads& heads) {
  const bool largest = layers == (family.name == "gemma2" ? 46 : 62);
  return largest ? heads.width / heads.heads : heads.head_dim;
}

GgufLinearHeads linear_heads_of(const GgufFile& file, const GgufFamily& family) {
  const auto size = [&](std::string_view key) {
    return required_size(file, family_key(family, key));
  };
  const GgufLinearHeads out{.key_heads = size("ssm.group_count"),
                            .value_heads = size("ssm.time_step_rank"),
                            .key_dim = size("ssm.state_size"),
                            .values = size("ssm.inner_size")};
  if (out.value_heads % out.key_heads != 0 || out.values % out.value_heads != 0) {
    file.refuse(
        counted(out.values, "value") + " of linear attention cannot be divided evenly among " +
        counted(out.value_heads, "value head") + " of " + counted(out.key_heads, "key head"));
  }
  return out;
}

/// Whether the first position rows are cut off.
bool after_padding(const GgufFamily& family) {
  return std::any_of(family.tensors.begin(), family.tensors.end(), [](const GgufName& name) {
    return name.conversion == Conversion::after_padding;
  });
}

/// Whether the model's name contains "Mistral"; the name has no other use.
bool names_mistral(const GgufFile& file) {
  std::string all;
  for (const char* key : {"general.name", "general.basename"}) {
    for (const char letter : file.text(key).value_or("")) {
      all += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    }
    all += '\n';
  }
  return all.find("mistral") != std::string::npos;
}

}  // namespace

GgufHeads heads_of(const GgufFile& file, const GgufFamily& family) {
  constexpr std::int64_t kFarthestPadding = 1000;
  const auto key = [&](std::string_view own) { return family_key(family, own); };
  GgufHeads out{.heads = required_size(file, key("attention.head_count")),
                .width = required_size(file, key("embedding_length")),
                .experts = file.whole(key("expert_count"))};
  out.kv_heads = kv_heads_of(file, family).value_or(out.heads);
  if (out.kv_heads == 0) file.refuse("has no '" + key(kKvHeads) + "'");
  out.head_dim = size_at(file, key("attention.key_length")).value_or(out.width / out.heads);
  out.padding_rows = file.whole("tokenizer.ggml.padding_token_id").value_or(1) + 1;
  if (out.padding_rows > kFarthestPadding) out.padding_rows = 2;  // 2^32 - 1 means none
  if (family.linear_attention) out.linear = linear_heads_of(file, family);
  const auto value_dim = size_at(file, key("attention.value_length"));
  if (family.mla) return out;
  if (value_dim && *value_dim != out.head_dim) {
    throw Error(ErrorKind::unsupported,
                {.file = file.name,
                 .problem = "values of " + counted(*value_dim, "dimension") + " with keys of " +
                            std::to_string(out.head_dim) + " are not supported"});
  }
  return out;
}

std::string gguf_config(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts,
                        std::vector<std::string>& notes) {
  const GgufHeads heads = heads_of(file, family);
  json config = {{"model_type", family.model_type}, {"vocab_size", facts.vocabulary}};
  if (!family.assumed.empty()) config.update(json::parse(family.assumed));
  for (const GgufKey& key : family.sizes) {
    if (key.gguf == kWindowPattern && file.flags(family_key(family, kWindowPattern))) continue;
    if (key.gguf == kKvHeads) continue;  // heads_of() reads it
    const auto size = size_at(file, family_key(family, key.gguf));
    // Zero means that the size does not apply: no window.
    if (size && *size > 0) put(config, key.transformers, *size);
  }
  for (const GgufKey& key : family.counts) {
    const auto count = size_at(file, family_key(family, key.gguf));
    if (count) put(config, key.transformers, *count);
  }
  for (const GgufKey& key : family.numbers) {
    const auto number = file.number(family_key(family, key.gguf));
    if (number) put(config, key.transformers, *number);
  }
  for (const GgufKey& key : family.flags) {
    const auto flag = file.flag(family_key(family, key.gguf));
    if (flag) put(config, key.transformers, *flag);
  }
  const auto has_key = [&](const char* key) {
    return std::any_of(family.sizes.begin(), family.sizes.end(),
                       [&](const GgufKey& known) { return known.transformers == key; });
  };
  // If these are absent, transformers would use its own default.
  if (has_key("num_key_value_heads") && !family.mla) {
    config["num_key_value_heads"] = heads.kv_heads;
  }
  if (has_key("head_dim") && !family.mla) config["head_dim"] = heads.head_dim;

  const auto blocks = required_size(file, family_key(family, "block_count"));
  const auto drafts = file.whole(family_key(family, "nextn_predict_layers")).value_or(0);
  if (drafts > 0) {
    if (drafts >= blocks) {
      file.refuse("specifies that " + counted(drafts, "layer") + " of " + std::to_string(blocks) +
                  " draft future tokens");
    }
    config["num_hidden_layers"] = blocks - drafts;
    config["num_nextn_predict_layers"] = drafts;
  }
  const std::int64_t layers = blocks - drafts;
  if (!family.last_expert_layer.empty() && facts.last_expert_layer) {
    config[std::string(family.last_expert_layer)] = *facts.last_expert_layer;
  }
  add_layer_types(config, file, family, layers);

  if (family.rotary) config["rope_parameters"] = rope_parameters(file, family, facts, heads);
  if (family.sizes_by_kind) {
    add_sizes_by_kind(config, file, family, facts);
    config["rope_parameters"] = rope_by_kind(file, family, facts);
  }
  if (family.name == "gemma2" || family.name == "gemma3") {
    config["query_pre_attn_scalar"] = score_dimension(family, blocks, heads);
  }
  if (family.mla) {
    add_mla_sizes(config, file, family, facts, heads);
    if (config.contains("n_routed_experts")) add_expert_groups(config, family, notes);
  }
  if (family.linear_attention) {
    config["linear_value_head_dim"] = heads.linear.values / heads.linear.value_heads;
    config["linear_rates_kept"] = true;
  }
  if (family.layout_by_heads) add_falcon_layout(config, facts, heads);
  if (const auto parallel = file.flag(family_key(family, "use_parallel_residual"))) {
    config["use_parallel_residual"] = *parallel;
  }
  if (family.causal && file.flag(family_key(family, "attention.causal")) == false) {
    config["is_causal"] = false;
  }
  if (family.whole_gains) config["norm_gain_offset"] = 0;
  if (family.has_head) config["tie_word_embeddings"] = facts.tied;
  config[std::string(family.bias_key)] = facts.attention_bias;
  config["mlp_bias"] = facts.mlp_bias;
  if (!family.head_norm_key.empty()) config[std::string(family.head_norm_key)] = facts.head_norms;
  const std::pair<const char*, const char*> kTokens[] = {
      {"bos_token_id", "tokenizer.ggml.bos_token_id"},
      {"eos_token_id", "tokenizer.ggml.eos_token_id"},
      {"pad_token_id", "tokenizer.ggml.padding_token_id"}};
  for (const auto& [ours, theirs] : kTokens) {
    const auto id = file.whole(theirs);
    if (id && *id < facts.vocabulary) config[ours] = *id;  // 2^32 - 1 means none
  }
  if (after_padding(family) && config.contains("max_position_embeddings")) {
    config["max_position_embeddings"] =
        config["max_position_embeddings"].get<std::int64_t>() + heads.padding_rows;
    config["pad_token_id"] = heads.padding_rows - 1;
  }
  if (!family.lost.empty()) notes.emplace_back(family.lost);
  if (family.model_type == "llama" && names_mistral(file)) {
    notes.emplace_back("GGUF does not store Mistral's sliding window: assuming none");
  }
  return config.dump();
}

}  // namespace attnscope
