// fairseq's checkpoint.pt: RoBERTa, XLM-R, BART and mBART. Source: facebookresearch/fairseq,
// fairseq/models/roberta/model.py and fairseq/models/bart/model.py.
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/foreign/foreign_model.h"

namespace attnscope {
namespace {

using nlohmann::json;

/// The options of the model: `args`, or `model` in `cfg` since fairseq 0.10.2. Null if absent.
json fairseq_options(const json& settings) {
  if (const auto args = settings.find("args"); args != settings.end()) return *args;
  const auto cfg = settings.find("cfg");
  return cfg == settings.end() ? json() : cfg->value("model", json());
}

std::string activation_in(const json& options, const std::string& place) {
  const json name = options.value("activation_fn", json("gelu"));
  if (name == "gelu" || name == "relu") return name;
  if (name == "gelu_accurate" || name == "gelu_fast") return "gelu_pytorch_tanh";
  throw Error(ErrorKind::unsupported,
              {.file = place,
               .problem = verbatim("'activation_fn': " + name.dump() + " is not supported"),
               .hint = "describe the model with {layout} FILE.json"});
}

/// The number of rows of an embedding. Throws Error(format) that names the tensor.
std::int64_t rows_of_embedding(const Checkpoint& checkpoint, const std::string& name) {
  const CheckpointTensor* table = checkpoint.find(name);
  if (table == nullptr || table->view.shape.size() != 2) {
    throw Error(ErrorKind::format, {.file = checkpoint.main_file().string(),
                                    .tensor = name,
                                    .problem = "is missing or not a matrix"});
  }
  return table->view.shape[0];
}

/// Buffers that record the version of a module or the data type.
bool is_fairseq_buffer(std::string_view name) {
  return name == "version" || name.ends_with(".version") || name.ends_with("._float_tensor");
}

[[noreturn]] void refuse_fairseq(const Checkpoint& checkpoint, std::string_view tensor) {
  refuse_foreign(checkpoint, tensor, "fairseq's models");
}

/// Returns the tensors under the names that `modules` gives them. A tensor in `fused` contains
/// queries, keys and values; `*` in its new name is replaced by the name of the part.
std::vector<CheckpointTensor> renamed_tensors(const Checkpoint& checkpoint,
                                              const ModuleRenames& modules,
                                              const ModuleRenames& fused) {
  constexpr std::string_view kParts[] = {"query", "key", "value"};
  std::vector<CheckpointTensor> out;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (is_fairseq_buffer(tensor.name)) continue;
    if (const auto whole = renamed(tensor.name, fused)) {
      for (std::int64_t part = 0; part < 3; ++part) {
        std::string own = *whole;
        own.replace(own.find('*'), 1, kParts[part]);
        out.push_back(part_of(checkpoint, tensor, std::move(own), part, 3));
      }
      continue;
    }
    auto name = renamed(tensor.name, modules);
    if (!name) refuse_fairseq(checkpoint, tensor.name);
    out.push_back(tensor);
    out.back().name = *std::move(name);
  }
  return out;
}

/// `stack`: "encoder" or, in files of 2019, "decoder".
ForeignModel fairseq_roberta(const Checkpoint& checkpoint, const json& options,
                             const std::string& stack) {
  const std::string from = stack + ".sentence_encoder.", layer = from + "layers.{layer}.",
                    to = "roberta.encoder.layer.{layer}.";
  const ModuleRenames modules = {
      {from + "embed_tokens", "roberta.embeddings.word_embeddings"},
      {from + "embed_positions", "roberta.embeddings.position_embeddings"},
      {from + "emb_layer_norm", "roberta.embeddings.LayerNorm"},
      {from + "layernorm_embedding", "roberta.embeddings.LayerNorm"},
      {layer + "self_attn.q_proj", to + "attention.self.query"},
      {layer + "self_attn.k_proj", to + "attention.self.key"},
      {layer + "self_attn.v_proj", to + "attention.self.value"},
      {layer + "self_attn.out_proj", to + "attention.output.dense"},
      {layer + "self_attn_layer_norm", to + "attention.output.LayerNorm"},
      {layer + "fc1", to + "intermediate.dense"},
      {layer + "fc2", to + "output.dense"},
      {layer + "final_layer_norm", to + "output.LayerNorm"},
      {stack + ".lm_head.dense", "lm_head.dense"},
      {stack + ".lm_head.layer_norm", "lm_head.layer_norm"},
      {stack + ".lm_head", "lm_head"}};
  const ModuleRenames fused = {{layer + "self_attn.in_proj_weight", to + "attention.self.*.weight"},
                               {layer + "self_attn.in_proj_bias", to + "attention.self.*.bias"}};
  const std::string place = checkpoint.main_file().string();
  ForeignModel out{.tensors = renamed_tensors(checkpoint, modules, fused)};
  for (CheckpointTensor& tensor : out.tensors) {
    if (tensor.name == "lm_head.weight") tensor.name = "lm_head.decoder.weight";
  }
  const json config = {
      {"model_type", "roberta"},
      {"architectures", {"RobertaForMaskedLM"}},
      {"hidden_size", size_in(options, "encoder_embed_dim", place)},
      {"num_hidden_layers", count_layers(checkpoint, layer + "fc1.weight")},
      {"num_attention_heads", size_in(options, "encoder_attention_heads", place)},
      {"intermediate_size", size_in(options, "encoder_ffn_embed_dim", place)},
      {"hidden_act", activation_in(options, place)},
      {"vocab_size", rows_of_embedding(checkpoint, from + "embed_tokens.weight")},
      {"max_position_embeddings", rows_of_embedding(checkpoint, from + "embed_positions.weight")},
      {"type_vocab_size", 0},
      {"layer_norm_eps", 1e-5},
      {"pad_token_id", 1},
      {"tie_word_embeddings", true}};
  out.config = config.dump();
  return out;
}

void add_bart_stack(ModuleRenames& modules, const std::string& stack) {
  const std::string layer = stack + ".layers.{layer}.";
  const auto add = [&](const std::string& module) {
    modules.push_back({module, "model." + module});
  };
  add(stack + ".embed_positions");
  add(stack + ".layernorm_embedding");
  add(stack + ".layer_norm");
  const auto add_attention = [&](const std::string& attention) {
    for (const char* part : {".q_proj", ".k_proj", ".v_proj", ".out_proj", "_layer_norm"}) {
      add(layer + attention + part);
    }
  };
  add_attention("self_attn");
  if (stack == "decoder") add_attention("encoder_attn");
  for (const char* part : {"fc1", "fc2", "final_layer_norm"}) add(layer + part);
}

ForeignModel fairseq_bart(const Checkpoint& checkpoint, const json& options) {
  ModuleRenames modules = {{"encoder.embed_tokens", "model.shared"},
                           {"decoder.output_projection", "lm_head"}};
  add_bart_stack(modules, "encoder");
  add_bart_stack(modules, "decoder");
  const std::string place = checkpoint.main_file().string();
  // mBART normalizes the input of each module, and the last output.
  const bool pre_norm = options.value("encoder_normalize_before", json(false)) == true;
  if (pre_norm != (checkpoint.find("encoder.layer_norm.weight") != nullptr) ||
      (options.value("decoder_normalize_before", json(false)) == true) != pre_norm) {
    throw Error(ErrorKind::unsupported,
                {.file = place,
                 .problem = "its layers are neither those of BART nor those of mBART",
                 .hint = "describe the model with {layout} FILE.json"});
  }
  ForeignModel out{.tensors = renamed_tensors(checkpoint, modules, {})};
  const auto layers = [&](const std::string& stack) {
    return count_layers(checkpoint, stack + ".layers.{layer}.fc1.weight");
  };
  const json config = {
      {"model_type", pre_norm ? "mbart" : "bart"},
      {"d_model", size_in(options, "encoder_embed_dim", place)},
      {"encoder_layers", layers("encoder")},
      {"encoder_attention_heads", size_in(options, "encoder_attention_heads", place)},
      {"encoder_ffn_dim", size_in(options, "encoder_ffn_embed_dim", place)},
      {"decoder_layers", layers("decoder")},
      {"decoder_attention_heads", size_in(options, "decoder_attention_heads", place)},
      {"decoder_ffn_dim", size_in(options, "decoder_ffn_embed_dim", place)},
      {"activation_function", activation_in(options, place)},
      {"vocab_size", rows_of_embedding(checkpoint, "encoder.embed_tokens.weight")},
      {"max_position_embeddings",
       rows_of_embedding(checkpoint, "encoder.embed_positions.weight") - 2},
      {"scale_embedding", options.value("no_scale_embedding", json(false)) != true},
      {"tie_word_embeddings", true}};
  out.config = config.dump();
  return out;
}

}  // namespace

std::optional<ForeignModel> read_fairseq(const Checkpoint& checkpoint, const json& settings) {
  const json options = fairseq_options(settings);
  if (!options.is_object()) return std::nullopt;
  for (const std::string stack : {"encoder", "decoder"}) {
    if (checkpoint.find(stack + ".sentence_encoder.embed_tokens.weight") != nullptr) {
      return fairseq_roberta(checkpoint, options, stack);
    }
  }
  const bool is_bart = checkpoint.find("encoder.embed_positions.weight") != nullptr &&
                       checkpoint.find("decoder.layers.0.encoder_attn.q_proj.weight") != nullptr;
  if (!is_bart) return std::nullopt;
  return fairseq_bart(checkpoint, options);
}

}  // namespace attnscope
