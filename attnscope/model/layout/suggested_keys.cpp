#include "attnscope/model/layout/suggested_keys.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "attnscope/base/text.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// Keys of transformers' configs that do not affect the inference of a single text, or only contain
/// sizes that the tensors determine.
constexpr auto kWithoutEffect = std::to_array<std::string_view>({"_attn_implementation",
                                                                 "_attn_implementation_autoset",
                                                                 "_commit_hash",
                                                                 "_name_or_path",
                                                                 "architectures",
                                                                 "attention_bias",
                                                                 "attention_dropout",
                                                                 "attention_out_bias",
                                                                 "attention_probs_dropout_prob",
                                                                 "attn_implementation",
                                                                 "attn_pdrop",
                                                                 "auto_map",
                                                                 "bad_words_ids",
                                                                 "begin_suppress_tokens",
                                                                 "bias",
                                                                 "bos_token_id",
                                                                 "chunk_size_feed_forward",
                                                                 "classifier_activation",
                                                                 "classifier_bias",
                                                                 "classifier_dropout",
                                                                 "classifier_pooling",
                                                                 "cls_token_id",
                                                                 "decoder_start_token_id",
                                                                 "diversity_penalty",
                                                                 "do_sample",
                                                                 "dtype",
                                                                 "early_stopping",
                                                                 "embd_pdrop",
                                                                 "embedding_dropout",
                                                                 "eos_token_id",
                                                                 "finetuning_task",
                                                                 "forced_bos_token_id",
                                                                 "forced_eos_token_id",
                                                                 "gradient_checkpointing",
                                                                 "head_dim",
                                                                 "hidden_dropout",
                                                                 "hidden_dropout_prob",
                                                                 "id2label",
                                                                 "initializer_range",
                                                                 "intermediate_size",
                                                                 "label2id",
                                                                 "length_penalty",
                                                                 "mask_token_id",
                                                                 "max_length",
                                                                 "min_length",
                                                                 "mlp_bias",
                                                                 "model_type",
                                                                 "no_repeat_ngram_size",
                                                                 "num_beam_groups",
                                                                 "num_beams",
                                                                 "num_labels",
                                                                 "num_return_sequences",
                                                                 "output_attentions",
                                                                 "output_hidden_states",
                                                                 "output_scores",
                                                                 "pad_token_id",
                                                                 "prefix",
                                                                 "pretraining_tp",
                                                                 "problem_type",
                                                                 "qkv_bias",
                                                                 "quantization_config",
                                                                 "remove_invalid_values",
                                                                 "repetition_penalty",
                                                                 "resid_pdrop",
                                                                 "residual_dropout",
                                                                 "return_dict",
                                                                 "return_dict_in_generate",
                                                                 "sep_token_id",
                                                                 "suppress_tokens",
                                                                 "task_specific_params",
                                                                 "temperature",
                                                                 "tie_word_embeddings",
                                                                 "tokenizer_class",
                                                                 "top_k",
                                                                 "top_p",
                                                                 "torch_dtype",
                                                                 "torchscript",
                                                                 "transformers_version",
                                                                 "type_vocab_size",
                                                                 "use_cache",
                                                                 "vocab_size"});

/// Switches whose state is visible in the tensors, and settings without effect while such a switch
/// is off.
constexpr auto kWithoutEffectIfFalse = std::to_array<std::string_view>(
    {"add_cross_attention", "cross_attention_hidden_size", "is_decoder", "is_encoder_decoder",
     "output_router_logits", "qk_layernorm", "qk_norm", "tf_legacy_loss", "tie_encoder_decoder",
     "use_bfloat16", "use_qk_norm", "use_qkv_bias", "use_stable_embedding"});

bool is_in(auto const& names, std::string_view key) {
  return std::find(names.begin(), names.end(), key) != names.end();
}

bool is_without_effect(const json& config, const std::string& key, const json& value) {
  if (value.is_null() || is_in(kWithoutEffect, key)) return true;
  if (value == false && is_in(kWithoutEffectIfFalse, key)) return true;
  if (key == "use_qkv_bias") return true;  // biases are found by their names
  if ((value.is_object() || value.is_array()) && value.empty()) return true;  // pruned_heads
  if (key == "partial_rotary_factor" || key == "rotary_scaling_factor" ||
      key == "rope_scaling_factor")
    return value == 1.0;
  const bool no_window = config.value("use_sliding_window", json()) == false;
  if (key == "sliding_window" || key == "max_window_layers") return no_window;
  // An alternative name for the number of heads.
  return key == "num_heads" && value == config.value("num_attention_heads", json());
}

void add_unknown(const json& root, const json& object, const std::string& place,
                 const std::set<std::string>& asked, std::vector<std::string>& unknown) {
  for (const auto& [key, value] : object.items()) {
    const std::string full = place + key;
    if (!asked.contains(full)) {
      const bool whole_heads = key == "partial_rotary_factor" && value == 1.0;
      const bool known = place.empty() ? is_without_effect(root, key, value) : whole_heads;
      if (!known) unknown.push_back(full);
      continue;
    }
    if (value.is_object() && !is_in(kWithoutEffect, key)) {
      add_unknown(root, value, full + ".", asked, unknown);
    }
  }
}

/// RoPE settings may be in their own object.
bool is_in_rope_parameters(const json& config, const std::string& key) {
  for (const char* holder : {"rope_parameters", "rope_scaling"}) {
    const auto found = config.find(holder);
    if (found != config.end() && found->is_object() && found->contains(key)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> use_usual_names(const OfferTemplate& fitting, json& config) {
  std::vector<std::string> open;
  for (const std::vector<std::string>& names : fitting.needed) {
    std::vector<std::string> held;
    bool in_rope = false;
    for (const std::string& name : names) {
      if (config.contains(name) && !config[name].is_null()) held.push_back(name);
      in_rope = in_rope || is_in_rope_parameters(config, name);
    }
    if (held.empty() && !in_rope) {
      open.push_back("the config does not specify '" + names.front() + "'");
      continue;
    }
    if (held.empty()) continue;
    const json value = config[held.front()];
    for (const std::string& name : held) {
      if (config[name] != value) {
        open.push_back("'" + held.front() + "' and '" + name + "' contradict each other");
      }
      config.erase(name);
    }
    config[names.front()] = value;
  }
  return open;
}

std::vector<std::string> unknown_keys(const json& config, const std::set<std::string>& asked) {
  std::vector<std::string> unknown;
  add_unknown(config, config, "", asked, unknown);
  return unknown;
}

}  // namespace attnscope
