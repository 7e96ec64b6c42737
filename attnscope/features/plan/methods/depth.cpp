// Layers removed: tensors renumbered, lists of the config that have an entry for each layer cut,
// and what layers were by their numbers written out, so that those that stay are what they were.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnscope/base/strict_json.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/config/layer_config.h"
#include "attnscope/model/expert_and_mixer_rules.h"

namespace attnscope {
namespace {

/// Lists of config.json that have an entry for each layer, by the families that attnscope reads and
/// those whose classes know more of them (HunYuan-MoE). Other lists may be as long by chance.
constexpr std::array<const char*, 11> kListsOfLayers = {
    "layer_types",         "no_rope_layers",    "mlp_layer_types",      "indexer_types",
    "index_topk_pattern",  "num_experts",       "num_local_experts",    "moe_topk",
    "num_experts_per_tok", "num_shared_expert", "moe_intermediate_size"};

/// What the config says, which ConfigReader points into.
nlohmann::json all_of_config(const ChangedModel& changed) {
  nlohmann::json all = nlohmann::json::object();
  for (const std::string& key : changed.config_keys()) {
    all[key] = parse_python_json(*changed.config(key), changed.source().spec().source);
  }
  return all;
}

template <typename List>
nlohmann::json cut(const List& list, const std::vector<std::int64_t>& kept) {
  nlohmann::json out = nlohmann::json::array();
  for (const std::int64_t layer : kept) out.push_back(list[static_cast<std::size_t>(layer)]);
  return out;
}

/// What layers are by their numbers, where the config leaves it to them.
class NumberedFacts {
 public:
  NumberedFacts(ChangedModel& changed, const std::vector<std::int64_t>& kept)
      : changed_(changed),
        spec_(changed.source().spec()),
        kept_(kept),
        config_(all_of_config(changed)),
        reader_(&config_, spec_.source) {}

  void write() {
    cut_lists();
    write_kinds();
    write_rotated();
    write_dense();
    write_branch_factor();
  }

 private:
  /// Longer ones, too: the entries after the model's layers count for none.
  void cut_lists() {
    for (const char* key : kListsOfLayers) {
      const nlohmann::json* list = reader_.find(key);
      if (list == nullptr || !list->is_array() || std::ssize(*list) < layers()) continue;
      changed_.set_config(key, python_json_text(cut(*list, kept_)));
    }
  }

  void write_kinds() {
    const auto& window = spec_.architecture.window;
    if (!window) return;
    if (window->layers == WindowedLayers::listed_kinds) return write_listed_kinds();
    // Of layers that rotate, or do not, classes say the kind by their list of those.
    const bool by_rotation =
        window->layers == WindowedLayers::rotated || window->layers == WindowedLayers::unrotated;
    const bool listed = reader_.find("layer_types") != nullptr;
    if (!window->reads_layer_types || listed || by_rotation || !kinds_matter()) return;
    nlohmann::json kinds = nlohmann::json::array();
    for (const nlohmann::json& windowed : cut(windowed_layers(), kept_)) {
      kinds.push_back(windowed.get<bool>() ? "sliding_attention" : "full_attention");
    }
    changed_.set_config("layer_types", kinds.dump());
  }

  /// GPT-Neo's, as a list and in runs of layers, [[["global", "local"], 1]], which must agree.
  void write_listed_kinds() {
    nlohmann::json kinds = nlohmann::json::array();
    for (const nlohmann::json& windowed : cut(windowed_layers(), kept_)) {
      kinds.push_back(windowed.get<bool>() ? "local" : "global");
    }
    changed_.set_config("attention_layers", kinds.dump());
    const nlohmann::json run = nlohmann::json::array({kinds, 1});
    changed_.set_config("attention_types", nlohmann::json::array({run}).dump());
  }

  /// Classes take no list and an empty one alike: all layers but every n-th rotate.
  void write_rotated() {
    const auto& rope = spec_.architecture.rope;
    if (!rope || rope->layers != RotatedLayers::listed) return;
    const nlohmann::json* list = reader_.find(rope->layer_list);
    if (list != nullptr && !list->empty()) return;
    nlohmann::json rotated = nlohmann::json::array();
    for (const nlohmann::json& one :
         cut(listed_rotation(*rope, reader_, static_cast<std::size_t>(layers())), kept_)) {
      rotated.push_back(one.get<bool>() ? 1 : 0);
    }
    changed_.set_config(rope->layer_list, rotated.dump());
  }

  /// How many layers come before those with experts; the class's number where the config has none.
  void write_dense() {
    if (spec_.architecture.experts == nullptr) return;
    const ExpertLayersRule& rule = spec_.architecture.experts->layers;
    const ConfigKey& key = rule.first;
    const bool by_list = reader_.find(rule.types) != nullptr;
    if (by_list && reader_.find(key.name) == nullptr) return;
    const std::int64_t limit = reader_.number(key, /*least=*/0).value_or(0);
    const auto dense = std::count_if(kept_.begin(), kept_.end(),
                                     [&](std::int64_t layer) { return layer < limit; });
    if (dense != std::min(limit, std::ssize(kept_))) changed_.set_config(key.name, dense);
  }

  /// MiniCPM divides what a layer adds to the stream by the square root of how many layers it has.
  void write_branch_factor() {
    const MultiplierRule& rule = spec_.architecture.multipliers;
    const auto factor = reader_.positive(rule.branches);
    if (!rule.by_depth || !factor) return;
    const double share = static_cast<double>(kept_.size()) / static_cast<double>(layers());
    changed_.set_config(rule.branches.name, nlohmann::json(*factor * std::sqrt(share)).dump());
  }

  std::int64_t layers() const { return spec_.dimensions.layers; }

  std::vector<bool> windowed_layers() const {
    return attnscope::windowed_layers(spec_.architecture, reader_, layers());
  }

  /// Whether a layer's kind changes what it sees, or how it rotates.
  bool kinds_matter() const {
    return std::any_of(spec_.layers.begin(), spec_.layers.end(), [&](const LayerSpec& layer) {
      const AttentionSpec& own = layer.attention;
      return own.mask.reach || own.mask.chunk || own.rope != spec_.layers.front().attention.rope;
    });
  }

  ChangedModel& changed_;
  const ModelSpec& spec_;
  const std::vector<std::int64_t>& kept_;
  nlohmann::json config_;  // as it was
  ConfigReader reader_;
};

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
  NumberedFacts(changed, kept).write();
  set_layers(changed, std::ssize(kept));
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
