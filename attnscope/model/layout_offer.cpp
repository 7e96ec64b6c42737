#include "attnscope/model/layout_offer.h"

#include <array>
#include <nlohmann/json.hpp>

#include "attnscope/core/error.h"
#include "attnscope/model/config_reader.h"
#include "attnscope/model/spec.h"

namespace attnscope {
namespace {

using nlohmann::json, nlohmann::ordered_json;

struct Named {
  const char *role, *tensor;
};
constexpr std::array<Named, 7> kNames = {{{"q", "self_attn.q_proj.weight"},
                                          {"k", "self_attn.k_proj.weight"},
                                          {"v", "self_attn.v_proj.weight"},
                                          {"o", "self_attn.o_proj.weight"},
                                          {"gate", "mlp.gate_proj.weight"},
                                          {"up", "mlp.up_proj.weight"},
                                          {"down", "mlp.down_proj.weight"}}};

/// Tensors of one layer by the names that they have after its number.
class LlamaNames {
 public:
  LlamaNames(const Checkpoint& checkpoint, std::string prefix)
      : checkpoint_(checkpoint), prefix_(std::move(prefix)) {}

  const std::string& prefix() const { return prefix_; }
  bool holds(const std::string& name) const { return checkpoint_.find(prefix_ + name) != nullptr; }
  bool in_layer(std::int64_t layer, const std::string& name) const {
    return holds("layers." + std::to_string(layer) + "." + name);
  }
  /// (rows, columns) in layer 0, or of 0 where it is no matrix there.
  std::pair<std::int64_t, std::int64_t> shape(const char* name) const {
    const CheckpointTensor* found = checkpoint_.find(prefix_ + "layers.0." + name);
    if (found == nullptr || found->view.shape.size() != 2) return {0, 0};
    return {found->view.shape[0], found->view.shape[1]};
  }
  std::int64_t layers() const {
    std::int64_t count = 0;
    while (count < kMaxLayers && in_layer(count, kNames[0].tensor)) ++count;
    return count;
  }

 private:
  const Checkpoint& checkpoint_;
  std::string prefix_;
};

/// Heads, key/value heads and their dimension; false where shapes and config disagree.
bool set_heads(ordered_json& layout, const LlamaNames& names, const ConfigReader& config) {
  const auto [queries, width] = names.shape(kNames[0].tensor);
  const auto [keys, of_key] = names.shape(kNames[1].tensor);
  const auto [values, of_value] = names.shape(kNames[2].tensor);
  const std::int64_t heads = config.number({"num_attention_heads"}).value_or(0);
  if (heads == 0 || queries % heads != 0 || queries == 0 || of_key != width || of_value != width) {
    return false;
  }
  const std::int64_t head_dim = queries / heads;
  if (keys == 0 || keys % head_dim != 0 || heads % (keys / head_dim) != 0) return false;
  const std::int64_t kv_heads = keys / head_dim;
  if (values == 0 || values % kv_heads != 0) return false;
  layout["heads"] = heads;
  layout["kv_heads"] = kv_heads;
  layout["head_dim"] = head_dim;
  if (values / kv_heads != head_dim) layout["value_dim"] = values / kv_heads;
  return names.shape(kNames[3].tensor) == std::pair(width, heads * (values / kv_heads));
}

void set_forward(ordered_json& layout, const LlamaNames& names, const ConfigReader& config) {
  if (!names.holds("embed_tokens.weight") || !names.in_layer(0, "input_layernorm.weight")) return;
  layout["embedding"] = "embed_tokens.weight";
  ordered_json norms = {{"kind", "rms"},
                        {"epsilon", config.real({"rms_norm_eps", 1e-6}).value_or(1e-6)}};
  const auto set_norm = [&](const char* field, const std::string& name) {
    if (names.in_layer(0, name + ".weight")) norms[field] = "layers.{layer}." + name;
  };
  set_norm("attention_input", "input_layernorm");
  set_norm("mlp_input", "post_attention_layernorm");
  set_norm("query", "self_attn.q_norm");
  set_norm("key", "self_attn.k_norm");
  if (names.holds("norm.weight")) norms["last"] = "norm";
  layout["norms"] = norms;
  layout["rope"] = {{"theta", config.positive({"rope_theta", 10000}).value_or(10000)}};
  const std::string activation = config.text("hidden_act");
  layout["activation"] = activation.empty() ? "silu" : activation;
}

ordered_json layout_of(const LlamaNames& names, const ConfigReader& config, bool stores_head) {
  const auto width = names.shape(kNames[0].tensor).second;
  const auto mlp_width = names.shape(kNames[5].tensor).first;
  ordered_json layout = {{"schema", "attnscope-layout/1"},
                         {"name", config.text("model_type")},
                         {"prefix", names.prefix()},
                         {"layers", names.layers()},
                         {"width", width}};
  if (!set_heads(layout, names, config)) return {};
  if (mlp_width > 0) layout["mlp_width"] = mlp_width;
  ordered_json weights = ordered_json::array();
  for (const Named& named : kNames) {
    if (names.shape(named.tensor).first == 0) continue;
    weights.push_back(
        {{"role", named.role}, {"tensor", std::string("layers.{layer}.") + named.tensor}});
  }
  layout["weights"] = weights;
  if (mlp_width > 0) set_forward(layout, names, config);
  if (stores_head) layout["output_head"] = "lm_head.weight";
  if (!stores_head) layout["tied"] = true;
  return layout;
}

}  // namespace

std::string offered_layout(const Checkpoint& checkpoint, std::string_view config) {
  const json parsed = json::parse(config, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return "";
  for (const char* prefix : {"model.", "", "model.language_model.", "language_model.model."}) {
    const LlamaNames names(checkpoint, prefix);
    if (names.layers() == 0) continue;
    try {
      const bool stores_head = checkpoint.find("lm_head.weight") != nullptr;
      const ordered_json layout = layout_of(names, ConfigReader(&parsed, "config"), stores_head);
      if (layout.is_null()) return "";
      parse_layout(layout.dump(), "layout");  // what is offered can be read
      return layout.dump();
    } catch (const Error&) {
      return "";  // numbers of the config that are none
    }
  }
  return "";
}

}  // namespace attnscope
