// Depth pruning: removes layers, renumbers tensors and cuts config lists with one entry per layer.
// Properties that depend on the layer index are written to the config, so that the kept layers
// behave as before.
#include "attnscope/features/plan/methods/depth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/search.h"
#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/config/mask_config.h"
#include "attnscope/model/config/rope_config.h"
#include "attnscope/model/expert_and_mixer_rules.h"

namespace attnscope {
namespace {

/// Lists in config.json with one entry per layer, in the supported families and in HunYuan-MoE.
/// Other lists may have the same length by chance.
constexpr std::array<const char*, 12> kListsOfLayers = {
    "layer_types",         "no_rope_layers",    "mlp_layer_types",       "indexer_types",
    "index_topk_pattern",  "num_experts",       "num_local_experts",     "moe_topk",
    "num_experts_per_tok", "num_shared_expert", "moe_intermediate_size", "attention_window"};

/// The whole config, which ConfigReader points into.
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

/// Writes properties of layers that depend on their index.
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
  /// Also cuts longer lists, whose entries after the last layer are unused.
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
    // If the kind depends on rotation, transformers derives it from the list of rotated layers.
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

  /// GPT-Neo has the kinds as a list and as repeated patterns, [[["global", "local"], 1]], which
  /// must agree.
  void write_listed_kinds() {
    nlohmann::json kinds = nlohmann::json::array();
    for (const nlohmann::json& windowed : cut(windowed_layers(), kept_)) {
      kinds.push_back(windowed.get<bool>() ? "local" : "global");
    }
    changed_.set_config("attention_layers", kinds.dump());
    const nlohmann::json run = nlohmann::json::array({kinds, 1});
    changed_.set_config("attention_types", nlohmann::json::array({run}).dump());
  }

  /// Transformers treats a missing list and an empty list alike: all layers except every n-th
  /// rotate.
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

  /// Writes the number of dense layers before the MoE layers. Without a config key, transformers
  /// uses its default.
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

  /// MiniCPM divides each layer output by the square root of the number of layers.
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

  /// Whether the kind of a layer changes its attention mask or its RoPE.
  bool kinds_matter() const {
    return std::any_of(spec_.layers.begin(), spec_.layers.end(), [&](const LayerSpec& layer) {
      const AttentionSpec& own = layer.attention;
      return own.mask.reach || own.mask.chunk || own.rope != spec_.layers.front().attention.rope;
    });
  }

  ChangedModel& changed_;
  const ModelSpec& spec_;
  const std::vector<std::int64_t>& kept_;
  nlohmann::json config_;  // the original config
  ConfigReader reader_;
};

/// GPT-2 can divide scores by layer index + 1, so queries are rescaled for the new index.
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

/// Sets the key of this stack, and those of the other stacks, whose key may be missing if the
/// number is the same.
void set_layers(ChangedModel& changed, std::int64_t layers) {
  const Model& model = changed.source();
  const ConfigKey& own = model.spec().architecture.keys.layers;
  if (model.stack().empty()) return changed.set_config(changed.key_of(own), layers);
  const auto key_of = [](const ConfigKey& key) {
    return key.other_name.empty() ? key.name : key.other_name;
  };
  // The BART config contains the number of encoder layers twice.
  constexpr const char* kTwice = "num_hidden_layers";
  if (model.stack() == "encoder" && changed.config(kTwice)) changed.set_config(kTwice, layers);
  const Model* other = model.sibling(model.stack() == "encoder" ? "decoder" : "encoder");
  if (other != nullptr) {
    changed.set_config(key_of(other->spec().architecture.keys.layers), other->dimensions().layers);
  }
  changed.set_config(key_of(own), layers);
}

std::string why_not_depth(const Model& model) {
  const ModelSpec& spec = model.spec();
  if (spec.dimensions.layers < 2) return "the model has only one layer";
  if (spec.dimensions.layer_groups > 0) return "all layers share one set of weights";
  if (spec.dimensions.mixers != nullptr || !spec.own_dimensions.empty()) {
    return "the model has several kinds of layers";
  }
  const std::vector<bool>& sparse = spec.expert_layers;
  const bool some = std::find(sparse.begin(), sparse.end(), false) != sparse.end();
  const std::string& from =
      spec.dimensions.experts > 0 ? spec.architecture.experts->layers.first.name : std::string();
  if (some && from != "first_k_dense_replace") {
    return "the layer index decides which layers have experts";
  }
  if (!spec.key_values.empty()) return "some layers reuse keys and values of earlier layers";
  if (spec.architecture.norm->not_in_first_layer) {
    return "the first layer lacks a norm that the other layers have";
  }
  const auto& window = spec.architecture.window;
  if (window && window->last_is_full) return "the last layer always has full attention";
  for (const LayerSpec& layer : spec.layers) {
    const auto& indexer = layer.attention.indexer;
    if (indexer && indexer->shared)
      return "some layers attend to keys selected by an earlier layer";
    if (layer.input || layer.convolution || layer.own_input || layer.attention.value_embedding) {
      return "some layers have inputs other than the residual stream";
    }
  }
  return "";
}

/// The planner measures which layer to remove next, one at a time.
Choice least_loss_layers(Planner& planner, std::int64_t size) {
  const std::int64_t count = planner.model().dimensions().layers - size;
  const LayerOrder& order = planner.removals(count);
  std::vector<std::int64_t> kept = all_layers(planner.model());
  std::erase_if(kept, [&](std::int64_t layer) {
    const auto end = order.removed.begin() + count;
    return std::find(order.removed.begin(), end, layer) != end;
  });
  return {.method = depth_method(), .size = size, .kept = {kept}};
}

ChangedModel make_shallower(const Model& model, const Choice& choice, const TextStatistics& text,
                            const Compute&) {
  const auto refuse = [&] {
    throw Error(ErrorKind::format, "layer",
                "the plan contains layers that " + model.name() + " does not have");
  };
  if (choice.kept.size() != 1 || choice.kept.front().empty()) refuse();
  const auto& kept = choice.kept.front();
  const bool ascends =
      std::adjacent_find(kept.begin(), kept.end(), std::greater_equal<>()) == kept.end();
  if (!ascends || kept.front() < 0 || kept.back() >= model.dimensions().layers) refuse();
  return with_layers(model, kept, text.dtype);
}

ModelSize size_of_shallower(const Model& model, const ModelSize& before, const Choice& choice) {
  ModelSize out = before;
  const std::int64_t layers = model.dimensions().layers;
  const std::vector<std::int64_t> removed = removed_layers(choice, layers);
  const std::vector<double> products = products_of(model);
  for (const std::int64_t layer : removed) {
    out.flops_per_token -=
        2 * products[static_cast<std::size_t>(layer)] + flops_of_attention(model, layer);
  }
  out.parameters -= removable_parameters(model, removed);
  if (model.stack() != "encoder") cut_cache(out, choice.size, layers);
  return out;
}

std::string words_of_layers(const Choice& choice, std::int64_t whole) {
  const std::vector<std::int64_t> removed = removed_layers(choice, whole);
  return std::to_string(whole) + " → " + std::to_string(choice.size) +
         (removed.empty() ? "" : " (without " + runs_text(removed) + ")");
}

/// The layers to remove: "2,4".
std::optional<Choice> parse_removed_layers(const std::string& value, const Model& model) {
  std::vector<std::int64_t> kept = all_layers(model);
  for (const std::string& part : list_parts(value)) {
    const auto layer = whole_number(part);
    if (!layer) return std::nullopt;
    if (std::erase(kept, *layer) == 0) {
      throw Error(ErrorKind::usage, {.parameter = "set",
                                     .problem = verbatim(model.name()) + " has no layer " +
                                                std::to_string(*layer) + " to remove"});
    }
  }
  if (kept.empty()) return std::nullopt;
  return Choice{.method = depth_method(), .size = std::ssize(kept), .kept = {kept}};
}

std::string target_of_layers(const Model& model, const Choice& choice, const ModelSize&) {
  std::vector<std::string> removed;
  for (const std::int64_t layer : removed_layers(choice, model.dimensions().layers)) {
    removed.push_back(std::to_string(layer));
  }
  return "set remove-layers=" + join(removed, ",");
}

}  // namespace

std::vector<std::int64_t> all_layers(const Model& model) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(model.dimensions().layers));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

Method depth_method() {
  static const MethodInfo info = {
      .name = "depth",
      .set_name = "remove-layers",
      .set_example = "remove-layers=2,4",
      .rows = PlanRows::removal,
      .whole = [](const Dimensions& dimensions) { return dimensions.layers; },
      .cut = [](Dimensions& dimensions, std::int64_t size) { dimensions.layers = size; },
      .why_not = why_not_depth,
      .sizes = [](const Model& model) { return descending_sizes(model.dimensions().layers); },
      .search = least_loss_layers,
      .search_steps =
          [](const Model& model, std::span<const std::int64_t> sizes) {
            const std::int64_t least = *std::ranges::min_element(sizes);
            return static_cast<std::size_t>(model.dimensions().layers - least) + 1;
          },
      .sketch = least_loss_layers,
      .make = make_shallower,
      .size_after = size_of_shallower,
      .words = words_of_layers,
      .parse_set = parse_removed_layers,
      .target = target_of_layers,
  };
  return &info;
}

ChangedModel with_layers(const Model& model, const std::vector<std::int64_t>& kept,
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

std::vector<std::int64_t> removed_layers(const Choice& choice, std::int64_t layers) {
  std::vector<std::int64_t> removed;
  const auto& kept = choice.kept.front();
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (std::find(kept.begin(), kept.end(), layer) == kept.end()) removed.push_back(layer);
  }
  return removed;
}

}  // namespace attnscope
