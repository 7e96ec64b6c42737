#include "attnscope/checkpoint/gguf/gguf_config.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "attnscope/core/error.h"
#include "attnscope/core/wording.h"

namespace attnscope {
namespace {

using nlohmann::json;

std::string family_key(const GgufFamily& family, std::string_view key) {
  return std::string(family.name) + "." + std::string(key);
}

/// A whole number, or a list of one for each layer where all are equal.
std::optional<std::int64_t> size_at(const GgufFile& file, const std::string& key) {
  const auto found = file.values.find(key);
  if (found == file.values.end()) return std::nullopt;
  if (!std::holds_alternative<GgufArray>(found->second)) return file.whole(key);
  const auto list = file.wholes(key).value();
  if (list.empty()) return std::nullopt;
  if (std::any_of(list.begin(), list.end(), [&](std::int64_t own) { return own != list[0]; })) {
    throw Error(ErrorKind::unsupported,
                {.file = file.name,
                 .problem = "layers differ in '" + verbatim(key) + "', which is not read"});
  }
  return list.front();
}

std::int64_t required_size(const GgufFile& file, const std::string& key) {
  const auto size = size_at(file, key);
  if (!size || *size == 0) file.refuse("has no '" + verbatim(key) + "'");
  return *size;
}

/// As config.json's rope_parameters, of transformers 5: the kind of scaling with its numbers.
json rope_parameters(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts,
                     const GgufHeads& heads) {
  const auto number = [&](std::string_view key) { return file.number(family_key(family, key)); };
  json rope = {{"rope_type", "default"}, {"rope_theta", number("rope.freq_base").value_or(10000)}};
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
  }
  return rope;
}

/// What Gemma 2 and 3 divide scores by the root of. The files do not say: the largest model of each
/// is the only one that differs, and llama.cpp tells it by its layers, too.
std::int64_t score_dimension(const GgufFamily& family, std::int64_t layers,
                             const GgufHeads& heads) {
  const bool largest = layers == (family.name == "gemma2" ? 46 : 62);
  return largest ? heads.width / heads.heads : heads.head_dim;
}

/// Whether the model's name, which says nothing else, says that it is a Mistral.
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

GgufHeads heads_of(const GgufFile& file) {
  const std::string prefix = std::string(file.text("general.architecture").value_or("")) + ".";
  GgufHeads out{.heads = required_size(file, prefix + "attention.head_count"),
                .width = required_size(file, prefix + "embedding_length")};
  out.kv_heads = size_at(file, prefix + "attention.head_count_kv").value_or(out.heads);
  out.head_dim = size_at(file, prefix + "attention.key_length").value_or(out.width / out.heads);
  const auto value_dim = size_at(file, prefix + "attention.value_length");
  if (value_dim && *value_dim != out.head_dim) {
    throw Error(ErrorKind::unsupported,
                {.file = file.name,
                 .problem = "values of " + counted(*value_dim, "dimension") + " beside keys of " +
                            std::to_string(out.head_dim) + " are not read"});
  }
  return out;
}

std::string gguf_config(const GgufFile& file, const GgufFamily& family, const GgufFacts& facts,
                        std::vector<std::string>& notes) {
  const GgufHeads heads = heads_of(file);
  json config = {{"model_type", family.model_type}, {"vocab_size", facts.vocabulary}};
  for (const GgufKey& key : family.sizes) {
    const auto size = size_at(file, family_key(family, key.gguf));
    // Zero means that there is none: no window.
    if (size && *size > 0) config[std::string(key.transformers)] = *size;
  }
  for (const GgufKey& key : family.numbers) {
    const auto number = file.number(family_key(family, key.gguf));
    if (number) config[std::string(key.transformers)] = *number;
  }
  const auto has_key = [&](const char* key) {
    return std::any_of(family.sizes.begin(), family.sizes.end(),
                       [&](const GgufKey& known) { return known.transformers == key; });
  };
  // Where these are absent, transformers would take a number of its own.
  if (has_key("num_key_value_heads")) config["num_key_value_heads"] = heads.kv_heads;
  if (has_key("head_dim")) config["head_dim"] = heads.head_dim;

  if (family.rotary) config["rope_parameters"] = rope_parameters(file, family, facts, heads);
  if (family.name == "gemma3") {
    const json windowed = {
        {"rope_type", "default"},
        {"rope_theta", file.number("gemma3.rope.freq_base_swa").value_or(10000)}};
    config["rope_parameters"] = {{"full_attention", config["rope_parameters"]},
                                 {"sliding_attention", windowed}};
  }
  if (family.name == "gemma2" || family.name == "gemma3") {
    const auto layers = required_size(file, family_key(family, "block_count"));
    config["query_pre_attn_scalar"] = score_dimension(family, layers, heads);
  }
  if (const auto parallel = file.flag(family_key(family, "use_parallel_residual"))) {
    config["use_parallel_residual"] = *parallel;
  }
  if (file.flag(family_key(family, "attention.causal")) == false) config["is_causal"] = false;
  if (family.whole_gains) config["norm_gain_offset"] = 0;
  if (family.has_head) config["tie_word_embeddings"] = facts.tied;
  config["attention_bias"] = facts.attention_bias;
  config["mlp_bias"] = facts.mlp_bias;
  const std::pair<const char*, const char*> kTokens[] = {
      {"bos_token_id", "tokenizer.ggml.bos_token_id"},
      {"eos_token_id", "tokenizer.ggml.eos_token_id"},
      {"pad_token_id", "tokenizer.ggml.padding_token_id"}};
  for (const auto& [ours, theirs] : kTokens) {
    const auto id = file.whole(theirs);
    if (id && *id < facts.vocabulary) config[ours] = *id;  // 2^32 - 1 stands for none
  }
  if (!family.lost.empty()) notes.emplace_back(family.lost);
  if (family.name == "llama" && names_mistral(file)) {
    notes.emplace_back("GGUF does not keep Mistral's sliding window: none is taken");
  }
  return config.dump();
}

}  // namespace attnscope
