// Llama of Meta and models of Mistral AI: consolidated.*.pth or .safetensors with params.json.
// Larger Llamas are split for model parallelism. Source: meta-llama/llama-models,
// models/llama3/model.py, and mistralai/mistral-inference, transformer.py.
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/weight_files.h"
#include "attnscope/model/foreign/foreign_model.h"
#include "attnscope/tensor/rearranged.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char* kParams = "params.json";

const ModuleRenames& consolidated_modules() {
  static const std::string layer = "model.layers.{layer}.";
  static const ModuleRenames modules = {
      {"tok_embeddings", "model.embed_tokens"},
      {"norm", "model.norm"},
      {"output", "lm_head"},
      {"layers.{layer}.attention_norm", layer + "input_layernorm"},
      {"layers.{layer}.ffn_norm", layer + "post_attention_layernorm"},
      {"layers.{layer}.attention.wq", layer + "self_attn.q_proj"},
      {"layers.{layer}.attention.wk", layer + "self_attn.k_proj"},
      {"layers.{layer}.attention.wv", layer + "self_attn.v_proj"},
      {"layers.{layer}.attention.wo", layer + "self_attn.o_proj"},
      {"layers.{layer}.feed_forward.w1", layer + "mlp.gate_proj"},
      {"layers.{layer}.feed_forward.w2", layer + "mlp.down_proj"},
      {"layers.{layer}.feed_forward.w3", layer + "mlp.up_proj"}};
  return modules;
}

/// The tensor of all parts. Matrices that read split activations are split by columns.
TensorView joined_parts(const Checkpoint& checkpoint, const CheckpointTensor& first,
                        std::int64_t width) {
  if (first.view.shape.size() != 2) return first.view;  // norms are repeated
  std::vector<const CheckpointTensor*> parts = {&first};
  for (std::size_t part = 1;; ++part) {
    const CheckpointTensor* next = checkpoint.find(part_name(first.name, part));
    if (next == nullptr) break;
    parts.push_back(next);
  }
  if (parts.size() == 1) return first.view;
  const auto count = static_cast<std::int64_t>(parts.size());
  const bool is_table = first.name.starts_with("tok_embeddings");
  const bool by_columns = is_table ? first.view.shape[1] * count == width
                                   : first.name.find(".wo.") != std::string::npos ||
                                         first.name.find(".w2.") != std::string::npos;
  std::vector<RowPart> rows;
  for (const CheckpointTensor* part : parts) {
    if (part->view.shape != first.view.shape || !part->view.strides.empty() ||
        part->view.dtype == DType::f64) {
      throw Error(ErrorKind::format,
                  checkpoint.parts_of(*part,
                                      "differs in shape from the first part, is float64, or "
                                      "is not row-major"));
    }
    rows.push_back({part->view, by_columns});
  }
  const TensorView all = one_after_another(std::move(rows));
  return by_columns ? transposed(all) : all;
}

}  // namespace

std::optional<ForeignModel> read_consolidated(const Checkpoint& checkpoint, const json&) {
  const CheckpointTensor* gate = checkpoint.find("layers.0.feed_forward.w1.weight");
  const CheckpointTensor* keys = checkpoint.find("layers.0.attention.wk.weight");
  const CheckpointTensor* table = checkpoint.find("tok_embeddings.weight");
  const json params = settings_file(checkpoint, kParams);
  if (!params.is_object() || keys == nullptr || table == nullptr) return std::nullopt;
  const std::string place = checkpoint.folder().place_of(kParams);
  if (gate == nullptr || !params.value("moe", json()).is_null()) {
    refuse_foreign(checkpoint, keys->name, "consolidated files");
  }
  const std::int64_t width = size_in(params, "dim", place);
  const std::int64_t heads = size_in(params, "n_heads", place);
  const bool grouped = params.contains("n_kv_heads") && !params["n_kv_heads"].is_null();
  const std::int64_t kv_heads = grouped ? size_in(params, "n_kv_heads", place) : heads;
  const std::int64_t head_dim =
      params.contains("head_dim") ? size_in(params, "head_dim", place) : width / heads;
  ForeignModel out;
  std::int64_t mlp_width = 0, vocabulary = 0;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (is_later_part(tensor.name) || tensor.name == "rope.freqs") continue;
    auto name = renamed(tensor.name, consolidated_modules());
    if (!name) refuse_foreign(checkpoint, tensor.name, "consolidated files");
    CheckpointTensor own = tensor;
    own.name = *std::move(name);
    own.view = joined_parts(checkpoint, tensor, width);
    const bool query = own.name.find(".q_proj.") != std::string::npos;
    if (query || own.name.find(".k_proj.") != std::string::npos) {
      // Rotary pairs are neighbors here, and halves of a head in transformers.
      const RowOrder order = {
          .groups = query ? heads : kv_heads, .outer = 2, .inner = head_dim / 2, .run = 1};
      if (own.view.shape.empty() || own.view.shape[0] != order.rows()) {
        throw Error(ErrorKind::format,
                    checkpoint.parts_of(tensor, "expected " + counted(order.rows(), "row") +
                                                    " in all parts (from " + place + ")"));
      }
      own.view = with_rows_in_order(own.view, order);
    }
    if (own.name == "model.embed_tokens.weight") vocabulary = own.view.shape[0];
    if (own.name == "model.layers.0.mlp.gate_proj.weight") mlp_width = own.view.shape[0];
    out.tensors.push_back(std::move(own));
  }
  const bool scaled = params.value("use_scaled_rope", json()) == true;
  const json window = params.value("sliding_window", json());
  json config = {
      {"model_type", window.is_number_integer() ? "mistral" : "llama"},
      {"hidden_size", width},
      {"num_hidden_layers", size_in(params, "n_layers", place)},
      {"num_attention_heads", heads},
      {"num_key_value_heads", kv_heads},
      {"head_dim", head_dim},
      {"intermediate_size", mlp_width},
      {"vocab_size", vocabulary},
      {"rms_norm_eps", params.value("norm_eps", json(1e-5))},
      {"rope_theta", params.value("rope_theta", json(10000.0))},
      {"max_position_embeddings", scaled ? json(131072) : params.value("max_seq_len", json(4096))},
      {"tie_word_embeddings", checkpoint.find("output.weight") == nullptr}};
  if (window.is_number_integer()) config["sliding_window"] = window;
  if (scaled) {
    // The factor of Llama 3.2 (1B and 3B); other models have 8, which Meta's code does not store.
    constexpr std::int64_t kWidest32 = 3072;
    config["rope_scaling"] = {
        {"rope_type", "llama3"},
        {"factor", params.value("rope_scaling_factor", json(width <= kWidest32 ? 32.0 : 8.0))},
        {"low_freq_factor", 1.0},
        {"high_freq_factor", params.value("rope_high_freq_factor", json(4.0))},
        {"original_max_position_embeddings", 8192}};
  }
  out.config = config.dump();
  return out;
}

}  // namespace attnscope
