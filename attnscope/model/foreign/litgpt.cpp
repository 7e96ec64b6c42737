// lit_model.pth with model_config.yaml of LitGPT. Source: Lightning-AI/litgpt, litgpt/model.py.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/foreign/foreign_model.h"
#include "attnscope/model/tensor_names.h"
#include "attnscope/tensor/rearranged.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kLitConfig = "model_config.yaml";
constexpr std::uint64_t kMaxLitConfigBytes = 1'000'000;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

json yaml_scalar(std::string_view text) {
  if (text.empty() || text == "null" || text == "~") return nullptr;
  if (text == "true" || text == "false") return text == "true";
  const char *first = text.data(), *last = text.data() + text.size();
  std::int64_t whole = 0;
  if (const auto parsed = std::from_chars(first, last, whole); parsed.ptr == last) return whole;
  double real = 0;
  if (const auto parsed = std::from_chars(first, last, real); parsed.ptr == last) return real;
  return std::string(text);
}

/// Reads what LitGPT writes with yaml.dump: one `key: value` per line, and objects one level deep.
/// Lists of names and numbers are read, other YAML is not.
json read_lit_config(std::string_view text) {
  json out = json::object();
  std::string open;  // the key of the object or list on the following lines
  for (const std::string& line : split(text, '\n')) {
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#') continue;
    if (content.starts_with("- ")) {
      if (!open.empty() && !out[open].is_object()) {
        out[open].push_back(yaml_scalar(trimmed(content.substr(2))));
      }
      continue;
    }
    const std::size_t colon = content.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string key(content.substr(0, colon));
    const json value = yaml_scalar(trimmed(content.substr(colon + 1)));
    if (line.front() != ' ') {
      out[key] = value;
      open = value.is_null() ? key : "";
    } else if (!open.empty() && !out[open].is_array()) {
      out[open][key] = value;
    }
  }
  return out;
}

/// The reason why the model is not described by Llama's or GPT-NeoX's; empty: it is.
std::string unsupported_part(const json& args, bool like_llama) {
  for (const char* key : {"scale_embeddings", "norm_qk", "post_attention_norm", "post_mlp_norm",
                          "lm_head_bias", "rope_interleave", "shared_attention_norm"}) {
    if (args.value(key, json()) == true) return key;
  }
  for (const char* key :
       {"attention_scores_scalar", "attention_logit_softcapping", "final_logit_softcapping",
        "latent_attention", "sliding_window_indices"}) {
    if (!args.value(key, json()).is_null()) return key;
  }
  for (const char* key : {"norm_1", "norm_2"}) {
    if (args.value(key, json(true)) != true) return key;
  }
  const std::string mlp = args.value("mlp_class_name", json("GptNeoxMLP")).dump();
  const std::string norm = args.value("norm_class_name", json("LayerNorm")).dump();
  if (mlp != (like_llama ? "\"LLaMAMLP\"" : "\"GptNeoxMLP\"")) return "mlp_class_name";
  if (norm != (like_llama ? "\"RMSNorm\"" : "\"LayerNorm\"")) return "norm_class_name";
  const bool parallel = args.value("parallel_residual", json(true)) == true;
  if (like_llama && parallel) return "parallel_residual";
  if (like_llama && args.value("rotary_percentage", json(0.25)) != 1.0) return "rotary_percentage";
  if (like_llama && args.value("bias", json(true)) == true) return "bias";
  if (!like_llama && !args.value("sliding_window_size", json()).is_null()) {
    return "sliding_window_size";
  }
  return "";
}

json lit_rope_scaling(const json& args, const std::string& place) {
  const json adjusted = args.value("rope_adjustments", json());
  const json ratio = args.value("rope_condense_ratio", json(1));
  if (!ratio.is_number()) {
    throw Error(ErrorKind::format,
                {.file = place, .problem = "'rope_condense_ratio' is not a number"});
  }
  const auto condensed = ratio.get<double>();
  if (!adjusted.is_object()) {
    return condensed == 1 ? json() : json{{"rope_type", "linear"}, {"factor", condensed}};
  }
  const bool known = condensed == 1 && adjusted.contains("low_freq_factor");
  if (!known) {
    throw Error(ErrorKind::unsupported,
                {.file = place, .problem = "its 'rope_adjustments' are not those of Llama 3"});
  }
  json scaling = {
      {"rope_type", "llama3"},
      {"original_max_position_embeddings", size_in(adjusted, "original_max_seq_len", place)}};
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"}) {
    scaling[key] = adjusted.value(key, json());
  }
  return scaling;
}

struct LitSizes {
  std::int64_t heads, kv_heads, head_dim;

  std::int64_t query_rows() const { return heads * head_dim; }
  std::int64_t key_rows() const { return kv_heads * head_dim; }
};

/// Appends W_Q, W_K and W_V, or their biases. Older files keep the projections of each group of
/// heads together.
void add_lit_projections(const Checkpoint& checkpoint, const CheckpointTensor& fused,
                         const LitSizes& sizes, bool by_group, const std::string& layer,
                         ForeignModel& out) {
  const std::int64_t rows = sizes.query_rows() + 2 * sizes.key_rows();
  const Shape& shape = fused.view.shape;
  const bool is_bias_of_groups = by_group && shape.size() != 2;
  if (shape.empty() || shape.size() > 2 || shape[0] != rows || is_bias_of_groups) {
    throw Error(ErrorKind::format,
                checkpoint.parts_of(fused, "expected " + counted(rows, "row") + ": " + kLitConfig +
                                               " describes another model"));
  }
  const std::string ending = fused.name.substr(fused.name.rfind('.'));
  const std::int64_t per_group = by_group ? sizes.heads / sizes.kv_heads : 0;
  std::int64_t first = 0;
  for (const char* role : {"q", "k", "v"}) {
    const bool query = role[0] == 'q';
    const std::int64_t count = query ? sizes.query_rows() : sizes.key_rows();
    const std::string name = layer + role + "_proj" + ending;
    if (!by_group) {
      out.tensors.push_back(rows_of(checkpoint, fused, name, first, count));
      first += count;
      continue;
    }
    std::vector<RowPart> parts;
    const std::int64_t own = query ? per_group : 1;
    const std::int64_t start = query ? 0 : role[0] == 'k' ? per_group : per_group + 1;
    for (std::int64_t group = 0; group < sizes.kv_heads; ++group) {
      const std::int64_t row = (group * (per_group + 2) + start) * sizes.head_dim;
      parts.push_back({rows_of(checkpoint, fused, name, row, own * sizes.head_dim).view});
    }
    CheckpointTensor joined = fused;
    joined.name = name;
    joined.view = one_after_another(std::move(parts));
    out.tensors.push_back(std::move(joined));
  }
}

ModuleRenames lit_modules(bool like_llama) {
  const std::string from = "transformer.h.{layer}.";
  if (like_llama) {
    const std::string to = "model.layers.{layer}.";
    return {{"transformer.wte", "model.embed_tokens"},
            {"transformer.ln_f", "model.norm"},
            {"lm_head", "lm_head"},
            {from + "norm_1", to + "input_layernorm"},
            {from + "norm_2", to + "post_attention_layernorm"},
            {from + "attn.proj", to + "self_attn.o_proj"},
            {from + "mlp.fc_1", to + "mlp.gate_proj"},
            {from + "mlp.fc_2", to + "mlp.up_proj"},
            {from + "mlp.proj", to + "mlp.down_proj"}};
  }
  const std::string to = "gpt_neox.layers.{layer}.";
  return {{"transformer.wte", "gpt_neox.embed_in"},
          {"transformer.ln_f", "gpt_neox.final_layer_norm"},
          {"lm_head", "embed_out"},
          {from + "norm_1", to + "input_layernorm"},
          {from + "norm_2", to + "post_attention_layernorm"},
          {from + "attn.proj", to + "attention.dense"},
          {from + "mlp.fc", to + "mlp.dense_h_to_4h"},
          {from + "mlp.proj", to + "mlp.dense_4h_to_h"}};
}

}  // namespace

bool is_litgpt(const Checkpoint& checkpoint) {
  return checkpoint.folder().has(kLitConfig) &&
         (checkpoint.find("transformer.h.0.attn.qkv.weight") != nullptr ||
          checkpoint.find("transformer.h.0.attn.attn.weight") != nullptr);
}

std::optional<ForeignModel> read_litgpt(const Checkpoint& checkpoint, const json&) {
  if (!is_litgpt(checkpoint)) return std::nullopt;
  const std::string place = checkpoint.folder().place_of(kLitConfig);
  const json args = read_lit_config(checkpoint.folder().read_text(kLitConfig, kMaxLitConfigBytes));
  const std::int64_t width = size_in(args, "n_embd", place);
  const bool like_llama = checkpoint.find("transformer.h.0.mlp.fc_1.weight") != nullptr;
  if (const std::string part = unsupported_part(args, like_llama); !part.empty()) {
    throw Error(ErrorKind::unsupported,
                {.file = place,
                 .problem = "'" + part +
                            "' makes it neither a Llama nor a GPT-NeoX, which are the "
                            "only supported models of LitGPT",
                 .hint = "convert it: litgpt convert_from_litgpt"});
  }
  LitSizes sizes = {.heads = size_in(args, "n_head", place), .kv_heads = 0, .head_dim = 0};
  sizes.kv_heads = args.value("n_query_groups", json()).is_null()
                       ? sizes.heads
                       : size_in(args, "n_query_groups", place);
  sizes.head_dim = args.value("head_size", json()).is_null() ? width / sizes.heads
                                                             : size_in(args, "head_size", place);
  constexpr std::int64_t kMost = std::int64_t{1} << 20;  // products of two do not overflow
  if (std::max({sizes.heads, sizes.kv_heads, sizes.head_dim}) > kMost) {
    throw Error(
        ErrorKind::format,
        {.file = place, .problem = "'n_head', 'n_query_groups' or 'head_size' is too large"});
  }
  if (!like_llama && sizes.kv_heads != sizes.heads) {
    throw Error(ErrorKind::unsupported,
                {.file = place, .problem = "a GPT-NeoX with 'n_query_groups' is not supported"});
  }
  ForeignModel out;
  std::int64_t mlp_width = 0;
  const ModuleRenames modules = lit_modules(like_llama);
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    const bool by_group = tensor.name.find(".attn.attn.") != std::string::npos;
    const bool fused = by_group || tensor.name.find(".attn.qkv.") != std::string::npos;
    const std::string pattern =
        std::string("transformer.h.{layer}.attn.") + (by_group ? "attn." : "qkv.") + "*";
    const auto match = fused ? match_pattern(pattern, tensor.name) : std::nullopt;
    if (match && like_llama) {
      const std::string layer =
          fill_pattern("model.layers.{layer}.self_attn.", {.layer = match->layer.value_or(0)});
      add_lit_projections(checkpoint, tensor, sizes, by_group, layer, out);
      continue;
    }
    CheckpointTensor own = tensor;
    if (match) {
      own.name = fill_pattern("gpt_neox.layers.{layer}.attention.query_key_value",
                              {.layer = match->layer.value_or(0)}) +
                 tensor.name.substr(tensor.name.rfind('.'));
      // GPT-NeoX keeps the projections of each head together, as older files of LitGPT do.
      const RowOrder order = {.outer = sizes.heads, .inner = 3, .run = sizes.head_dim};
      if (own.view.shape.empty() || own.view.shape[0] != order.rows()) {
        throw Error(ErrorKind::format,
                    checkpoint.parts_of(tensor, "expected " + counted(order.rows(), "row")));
      }
      if (!by_group) own.view = with_rows_in_order(own.view, order);
    } else {
      auto name = renamed(tensor.name, modules);
      if (!name) refuse_foreign(checkpoint, tensor.name, "LitGPT");
      own.name = *std::move(name);
    }
    const bool up = own.name.ends_with("layers.0.mlp.gate_proj.weight") ||
                    own.name.ends_with("layers.0.mlp.dense_h_to_4h.weight");
    if (up && !own.view.shape.empty()) mlp_width = own.view.shape[0];
    out.tensors.push_back(std::move(own));
  }
  const json window = args.value("sliding_window_size", json());
  const CheckpointTensor* table = checkpoint.find("transformer.wte.weight");
  json config = {{"hidden_size", width},
                 {"num_hidden_layers", size_in(args, "n_layer", place)},
                 {"num_attention_heads", sizes.heads},
                 {"num_key_value_heads", sizes.kv_heads},
                 {"head_dim", sizes.head_dim},
                 {"intermediate_size", mlp_width},
                 {"vocab_size", table == nullptr || table->view.shape.empty()
                                    ? size_in(args, "vocab_size", place)
                                    : table->view.shape[0]},
                 {"max_position_embeddings", size_in(args, "block_size", place)},
                 {"rope_theta", args.value("rope_base", json(10000))},
                 {"tie_word_embeddings", checkpoint.find("lm_head.weight") == nullptr}};
  if (const json scaling = lit_rope_scaling(args, place); !scaling.is_null()) {
    config["rope_scaling"] = scaling;
  }
  if (like_llama) {
    const bool biased = args.value("attn_bias", json(false)) == true;
    if (biased && window.is_number_integer()) {
      throw Error(
          ErrorKind::unsupported,
          {.file = place, .problem = "'attn_bias' with 'sliding_window_size' is not supported"});
    }
    config["model_type"] = biased ? "qwen2" : window.is_number_integer() ? "mistral" : "llama";
    config["rms_norm_eps"] = args.value("norm_eps", json(1e-5));
    if (window.is_number_integer()) config["sliding_window"] = window;
  } else {
    config["model_type"] = "gpt_neox";
    config["layer_norm_eps"] = args.value("norm_eps", json(1e-5));
    config["rotary_pct"] = args.value("rotary_percentage", json(0.25));
    config["use_parallel_residual"] = args.value("parallel_residual", json(true));
    const bool tanh = args.value("gelu_approximate", json("none")) == "tanh";
    config["hidden_act"] = tanh ? "gelu_new" : "gelu";
  }
  out.config = config.dump();
  return out;
}

}  // namespace attnscope
