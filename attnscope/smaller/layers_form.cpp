// Layers removed: tensors renumbered, and every list of the config that has an entry for each layer
// cut.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnscope/smaller/forms.h"

namespace attnscope {
namespace {

/// "sliding_attention" or "full_attention" of the kept layers, where the config leaves it to the
/// layer's number.
void write_kinds(ChangedModel& changed, const std::vector<std::int64_t>& kept) {
  const ModelSpec& spec = changed.source().spec();
  const auto& window = spec.architecture.window;
  if (!window || !window->reads_layer_types || changed.config("layer_types")) return;
  const auto reach = [&](std::int64_t layer) {
    return spec.layers[static_cast<std::size_t>(layer)].attention.mask.reach;
  };
  const bool differ = std::any_of(spec.layers.begin(), spec.layers.end(), [&](const auto& layer) {
    return layer.attention.mask.reach != spec.layers.front().attention.mask.reach;
  });
  if (!differ && !reach(0)) return;
  nlohmann::json kinds = nlohmann::json::array();
  for (const std::int64_t layer : kept) {
    kinds.push_back(reach(layer) ? "sliding_attention" : "full_attention");
  }
  changed.set_config("layer_types", kinds.dump());
}

void cut_lists(ChangedModel& changed, const std::vector<std::int64_t>& kept) {
  const auto layers = static_cast<std::size_t>(changed.source().dimensions().layers);
  for (const std::string& key : changed.config_keys()) {
    const nlohmann::json list = nlohmann::json::parse(*changed.config(key));
    if (!list.is_array() || list.size() != layers || key == "architectures") continue;
    nlohmann::json cut = nlohmann::json::array();
    for (const std::int64_t layer : kept) cut.push_back(list[static_cast<std::size_t>(layer)]);
    changed.set_config(key, cut.dump());
    // GPT-Neo says the same in runs of layers, which must agree.
    if (key == "attention_layers") {
      changed.set_config("attention_types", nlohmann::json{{cut, 1}}.dump());
    }
  }
}

/// Runs of kinds, [[["global", "local"], 6]], as GPT-Neo's config has them without the list.
void cut_runs(ChangedModel& changed, const std::vector<std::int64_t>& kept) {
  const auto text = changed.config("attention_types");
  if (!text || changed.config("attention_layers")) return;
  std::vector<nlohmann::json> kinds;
  for (const nlohmann::json& run : nlohmann::json::parse(*text)) {
    for (int time = 0; time < run.at(1).get<int>(); ++time) {
      for (const nlohmann::json& kind : run.at(0)) kinds.push_back(kind);
    }
  }
  nlohmann::json cut = nlohmann::json::array();
  for (const std::int64_t layer : kept) cut.push_back(kinds.at(static_cast<std::size_t>(layer)));
  changed.set_config("attention_types", nlohmann::json{{cut, 1}}.dump());
}

/// GPT-2 may divide scores by the layer's number + 1, which is another now.
void keep_scales(ChangedModel& changed, const std::vector<std::int64_t>& kept) {
  const Model& model = changed.source();
  if (changed.config("scale_attn_by_inverse_layer_idx") != "true") return;
  for (std::size_t at = 0; at < kept.size(); ++at) {
    const double factor = static_cast<double>(at + 1) / static_cast<double>(kept[at] + 1);
    LayerMatrices own;
    Matrix<double> query = canonical_matrix(model, kept[at], Role::query);
    for (std::int64_t element = 0; element < query.rows() * query.cols(); ++element) {
      query.data()[element] *= factor;
    }
    std::vector<double> bias = canonical_bias(model, kept[at], Role::query);
    for (double& value : bias) value *= factor;
    own.weights.emplace(Role::query, std::move(query));
    if (!bias.empty()) own.biases.emplace(Role::query, std::move(bias));
    changed.set_layer(kept[at], own);
  }
}

/// A stack's own key, and those of the others, which may be silent where theirs is the same number.
void set_layers(ChangedModel& changed, std::int64_t layers) {
  const Model& model = changed.source();
  const ConfigKey& own = model.spec().architecture.keys.layers;
  if (model.stack().empty()) return changed.set_config(changed.key_of(own), layers);
  const auto key_of = [](const ConfigKey& key) {
    return key.other_name.empty() ? key.name : key.other_name;
  };
  // BART's config says the encoder's layers twice.
  constexpr const char* kTwice = "num_hidden_layers";
  if (model.stack() == "encoder" && changed.config(kTwice)) changed.set_config(kTwice, layers);
  const Model* other = model.sibling(model.stack() == "encoder" ? "decoder" : "encoder");
  if (other != nullptr) {
    changed.set_config(key_of(other->spec().architecture.keys.layers), other->dimensions().layers);
  }
  changed.set_config(key_of(own), layers);
}

}  // namespace

ChangedModel without_layers(const Model& model, const std::vector<std::int64_t>& kept,
                            std::optional<DType> dtype) {
  ChangedModel changed(model, dtype);
  keep_scales(changed, kept);
  write_kinds(changed, kept);
  cut_runs(changed, kept);
  cut_lists(changed, kept);
  const auto layers = static_cast<std::int64_t>(kept.size());
  set_layers(changed, layers);
  if (const auto dense = changed.config("first_k_dense_replace")) {
    const std::int64_t limit = std::stoll(*dense);
    changed.set_config(
        "first_k_dense_replace",
        std::count_if(kept.begin(), kept.end(), [&](std::int64_t layer) { return layer < limit; }));
  }
  const std::string pattern = model.spec().architecture.weights.front().tensor;
  const std::string start = model.prefix() + pattern.substr(0, pattern.find("{layer}"));
  const std::map<std::string, TensorView> before = changed.tensors();
  for (const auto& [name, view] : before) {
    if (layer_of_tensor(model, name) >= 0) changed.remove(name);
  }
  for (const auto& [name, view] : before) {
    const std::int64_t layer = layer_of_tensor(model, name);
    const auto at = std::find(kept.begin(), kept.end(), layer);
    if (layer < 0 || at == kept.end()) continue;
    const std::string rest = name.substr(start.size() + std::to_string(layer).size());
    changed.put(start + std::to_string(at - kept.begin()) + rest, view);
  }
  return changed;
}

}  // namespace attnscope
