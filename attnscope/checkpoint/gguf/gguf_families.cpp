// Names and keys of each architecture.
// Source: ggml-org/llama.cpp, gguf-py/gguf/constants.py and tensor_mapping.py, and the classes of
// convert_hf_to_gguf.py; huggingface/transformers, models/*.
#include <algorithm>
#include <cctype>

#include "attnscope/checkpoint/gguf/gguf_family.h"

namespace attnscope {
namespace {

using enum Conversion;

/// Sizes that most architectures call the same in config.json.
std::vector<GgufKey> usual_sizes() {
  return {{"block_count", "num_hidden_layers"},
          {"context_length", "max_position_embeddings"},
          {"embedding_length", "hidden_size"},
          {"feed_forward_length", "intermediate_size"},
          {"attention.head_count", "num_attention_heads"}};
}

std::vector<GgufKey> sizes_with(std::vector<GgufKey> more) {
  std::vector<GgufKey> sizes = usual_sizes();
  sizes.insert(sizes.end(), more.begin(), more.end());
  return sizes;
}

using Names = std::vector<GgufName>;

void drop(Names& names, std::initializer_list<std::string_view> dropped) {
  std::erase_if(names, [&](const GgufName& name) {
    return std::find(dropped.begin(), dropped.end(), name.gguf) != dropped.end();
  });
}

/// Adds names, or says otherwise what those that are there mean.
void set(Names& names, const Names& meanings) {
  for (const GgufName& name : meanings) {
    drop(names, {name.gguf});
    names.push_back(name);
  }
}

/// Norms of each head's queries and keys.
Names head_norms() {
  return {{"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"}};
}

GgufFamily qwen2() {
  return {
      .name = "qwen2",
      .model_type = "qwen2",
      .tensors = {{"token_embd", "model.embed_tokens"},
                  {"output_norm", "model.norm"},
                  {"output", "lm_head"}},
      .layer_prefix = "model.layers.",
      .layer_tensors = {{"attn_norm", "input_layernorm"},
                        {"attn_q", "self_attn.q_proj"},
                        {"attn_k", "self_attn.k_proj"},
                        {"attn_v", "self_attn.v_proj"},
                        {"attn_output", "self_attn.o_proj"},
                        {"ffn_norm", "post_attention_layernorm"},
                        {"ffn_gate", "mlp.gate_proj"},
                        {"ffn_up", "mlp.up_proj"},
                        {"ffn_down", "mlp.down_proj"}},
      .sizes = sizes_with({{"attention.head_count_kv", "num_key_value_heads"},
                           {"attention.key_length", "head_dim"}}),
      .numbers = {{"attention.layer_norm_rms_epsilon", "rms_norm_eps"}},
  };
}

GgufFamily named(GgufFamily family, std::string_view name, std::string_view model_type) {
  family.name = name;
  family.model_type = model_type;
  return family;
}

GgufFamily llama() {
  GgufFamily family = named(qwen2(), "llama", "llama");
  set(family.layer_tensors,
      {{"attn_q", "self_attn.q_proj", query_pairs}, {"attn_k", "self_attn.k_proj", key_pairs}});
  return family;
}

GgufFamily qwen3() {
  GgufFamily family = named(qwen2(), "qwen3", "qwen3");
  set(family.layer_tensors, head_norms());
  return family;
}

GgufFamily gemma() {
  GgufFamily family = named(qwen2(), "gemma", "gemma");
  family.whole_gains = true;
  family.lost = "gains of norms are kept as 1 + w: the lowest bits of w are lost";
  return family;
}

GgufFamily gemma2() {
  GgufFamily family = named(gemma(), "gemma2", "gemma2");
  set(family.layer_tensors, {{"ffn_norm", "pre_feedforward_layernorm"},
                             {"post_attention_norm", "post_attention_layernorm"},
                             {"post_ffw_norm", "post_feedforward_layernorm"}});
  family.sizes.push_back({"attention.sliding_window", "sliding_window"});
  family.numbers.push_back({"attn_logit_softcapping", "attn_logit_softcapping"});
  family.numbers.push_back({"final_logit_softcapping", "final_logit_softcapping"});
  family.lost =
      "gains of norms are kept as 1 + w: the lowest bits of w are lost; which layers have a "
      "window, and by what scores are scaled, is taken to be as in the published models";
  return family;
}

GgufFamily gemma3() {
  GgufFamily family = named(gemma2(), "gemma3", "gemma3_text");
  set(family.layer_tensors, head_norms());
  return family;
}

GgufFamily phi2() {
  GgufFamily family = named(qwen2(), "phi2", "phi");
  set(family.tensors, {{"output_norm", "model.final_layernorm"}});
  drop(family.layer_tensors, {"ffn_norm", "ffn_gate"});
  set(family.layer_tensors,
      {{"attn_output", "self_attn.dense"}, {"ffn_up", "mlp.fc1"}, {"ffn_down", "mlp.fc2"}});
  family.sizes = sizes_with({{"attention.head_count_kv", "num_key_value_heads"}});
  family.numbers = {{"attention.layer_norm_epsilon", "layer_norm_eps"}};
  family.partly_rotary = true;
  family.lost = "the activation of the MLP is taken to be gelu_new";
  return family;
}

GgufFamily phi3() {
  GgufFamily family = named(qwen2(), "phi3", "phi3");
  drop(family.layer_tensors, {"attn_q", "attn_k", "attn_v", "ffn_gate"});
  set(family.layer_tensors, {{"attn_qkv", "self_attn.qkv_proj"}, {"ffn_up", "mlp.gate_up_proj"}});
  family.sizes.push_back({"attention.sliding_window", "sliding_window"});
  family.sizes.push_back({"rope.scaling.original_context_length",  //
                          "original_max_position_embeddings"});
  family.partly_rotary = true;
  return family;
}

GgufFamily gpt2() {
  return {
      .name = "gpt2",
      .model_type = "gpt2",
      .tensors = {{"token_embd", "transformer.wte"},
                  {"position_embd", "transformer.wpe"},
                  {"output_norm", "transformer.ln_f"},
                  {"output", "lm_head"}},
      .layer_prefix = "transformer.h.",
      .layer_tensors = {{"attn_norm", "ln_1"},
                        {"attn_qkv", "attn.c_attn", turned},
                        {"attn_output", "attn.c_proj", turned},
                        {"ffn_norm", "ln_2"},
                        {"ffn_up", "mlp.c_fc", turned},
                        {"ffn_down", "mlp.c_proj", turned}},
      .sizes = {{"block_count", "n_layer"},
                {"context_length", "n_positions"},
                {"embedding_length", "n_embd"},
                {"feed_forward_length", "n_inner"},
                {"attention.head_count", "n_head"}},
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_epsilon"}},
      .rotary = false,
      .lost = "the activation of the MLP is taken to be gelu_new",
  };
}

GgufFamily gptneox() {
  return {
      .name = "gptneox",
      .model_type = "gpt_neox",
      .tensors = {{"token_embd", "gpt_neox.embed_in"},
                  {"output_norm", "gpt_neox.final_layer_norm"},
                  {"output", "embed_out"}},
      .layer_prefix = "gpt_neox.layers.",
      .layer_tensors = {{"attn_norm", "input_layernorm"},
                        {"attn_qkv", "attention.query_key_value", heads_of_blocks},
                        {"attn_output", "attention.dense"},
                        {"ffn_norm", "post_attention_layernorm"},
                        {"ffn_up", "mlp.dense_h_to_4h"},
                        {"ffn_down", "mlp.dense_4h_to_h"}},
      .sizes = usual_sizes(),
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_eps"}},
      .partly_rotary = true,
      .lost = "the activation of the MLP is taken to be gelu",
  };
}

GgufFamily bert() {
  return {
      .name = "bert",
      .model_type = "bert",
      .tensors = {{"token_embd", "embeddings.word_embeddings"},
                  {"position_embd", "embeddings.position_embeddings"},
                  {"token_types", "embeddings.token_type_embeddings"},
                  {"token_embd_norm", "embeddings.LayerNorm"}},
      .layer_prefix = "encoder.layer.",
      .layer_tensors = {{"attn_q", "attention.self.query"},
                        {"attn_k", "attention.self.key"},
                        {"attn_v", "attention.self.value"},
                        {"attn_output", "attention.output.dense"},
                        {"attn_output_norm", "attention.output.LayerNorm"},
                        {"ffn_up", "intermediate.dense"},
                        {"ffn_down", "output.dense"},
                        {"layer_output_norm", "output.LayerNorm"}},
      .sizes = usual_sizes(),
      .numbers = {{"attention.layer_norm_epsilon", "layer_norm_eps"}},
      .rotary = false,
      .has_head = false,
      .lost =
          "the language head and the pooler are not kept in GGUF; the activation of the MLP is "
          "taken to be gelu",
  };
}

const std::vector<GgufFamily>& families() {
  static const std::vector<GgufFamily> all = {bert(), gemma(),   gemma2(), gemma3(),
                                              gpt2(), gptneox(), llama(),  phi2(),
                                              phi3(), qwen2(),   qwen3()};
  return all;
}

const GgufName* find_name(const std::vector<GgufName>& names, std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const GgufName& known) { return known.gguf == name; });
  return found == names.end() ? nullptr : &*found;
}

}  // namespace

const GgufFamily* find_gguf_family(std::string_view architecture) {
  const auto& all = families();
  const auto found = std::find_if(all.begin(), all.end(), [&](const GgufFamily& family) {
    return family.name == architecture;
  });
  return found == all.end() ? nullptr : &*found;
}

std::optional<RenamedTensor> renamed(const GgufFamily& family, std::string_view name) {
  constexpr std::string_view kLayer = "blk.";
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view ending = name.substr(dot);
  const bool bias = ending == ".bias";
  if (!bias && ending != ".weight") return std::nullopt;
  std::string_view stem = name.substr(0, dot);

  std::string prefix;
  const std::vector<GgufName>* names = &family.tensors;
  if (stem.starts_with(kLayer)) {
    stem.remove_prefix(kLayer.size());
    const std::size_t end = stem.find('.');
    const std::string_view number = stem.substr(0, end);
    const bool digits = std::all_of(number.begin(), number.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    if (end == std::string_view::npos || number.empty() || !digits) return std::nullopt;
    prefix = std::string(family.layer_prefix) + std::string(number) + ".";
    stem.remove_prefix(end + 1);
    names = &family.layer_tensors;
  }
  const GgufName* known = find_name(*names, stem);
  if (known == nullptr) return std::nullopt;
  RenamedTensor out{.name = prefix + std::string(known->transformers) + std::string(ending),
                    .conversion = known->conversion};
  if (bias && out.conversion == turned) out.conversion = none;
  return out;
}

}  // namespace attnscope
