#include "attnscope/model/summary.h"

#include <algorithm>
#include <map>
#include <set>

#include "attnscope/base/text.h"
#include "attnscope/model/tensor_roles.h"

namespace attnscope {
namespace {

/// copy → original.
using Copies = std::map<const CheckpointTensor*, const CheckpointTensor*>;

/// None if the model has no logits over tokens: its head predicts labels, or compares texts with
/// images.
std::optional<bool> is_tied(const Model& model, const Copies& copies) {
  const Checkpoint& checkpoint = model.checkpoint();
  const Architecture& architecture = model.spec().architecture;
  if (!architecture.head.none.empty() || architecture.head.pooling != Pooling::none) {
    return std::nullopt;
  }
  const CheckpointTensor* embedding =
      checkpoint.find(model.prefix() + architecture.embedding.tokens);
  if (const CheckpointTensor* head = checkpoint.find_first(architecture.head.weight)) {
    const auto copy = copies.find(head);
    return head == embedding || (copy != copies.end() && copy->second == embedding);
  }
  if (!model.stack().empty() && architecture.head.weight.empty()) return std::nullopt;
  const std::string& marker = architecture.head_marker;
  const auto& tensors = checkpoint.tensors();
  const bool has_head =
      marker.empty() || std::any_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
        return match_pattern(marker, tensor.name).has_value();
      });
  if (has_head && model.spec().tied) return true;
  return std::nullopt;
}

std::int64_t count_attention_parameters(const Model& model) {
  std::set<std::pair<const CheckpointTensor*, Role>> counted;  // ALBERT's layers share tensors
  std::int64_t total = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const WeightRule& rule : model.spec().architecture.weights) {
      const Weight& weight = model.weight(layer, rule.role);
      if (weight.tensor == nullptr) continue;
      if (!is_attention(rule.role) || !counted.emplace(weight.tensor, rule.role).second) continue;
      total += weight.matrix.rows * weight.matrix.cols;
      if (weight.bias != nullptr) total += weight.matrix.rows;
    }
  }
  return total;
}

std::string main_dtype(const Checkpoint& checkpoint) {
  std::map<std::string_view, std::uint64_t> bytes_of;
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    bytes_of[tensor.view.storage_name()] += stored_bytes(tensor.view);
  }
  const auto most =
      std::max_element(bytes_of.begin(), bytes_of.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes_of.end() ? "" : std::string(most->first);
}

void add_mixers(const Dimensions& dimensions, ModelSummary& summary) {
  if (dimensions.mixers == nullptr) return;
  std::vector<std::string> names;
  for (const LayerMixer& layer : dimensions.mixers->layers) {
    if (layer.name.empty() || std::find(names.begin(), names.end(), layer.name) != names.end()) {
      continue;
    }
    names.push_back(layer.name);
  }
  summary.attention_layers = dimensions.attention_layers();
  summary.mixer = join(names, ", ");
}

/// `parameters`: all parameters in the files. `of_experts`: those of the experts. The model must
/// have experts.
ExpertSummary summarize_experts(const Model& model, std::int64_t parameters,
                                std::int64_t of_experts) {
  const ModelSpec& spec = model.spec();
  const Dimensions& dimensions = spec.dimensions;
  ExpertSummary summary{
      .count = dimensions.experts,
      .layers = std::count(spec.expert_layers.begin(), spec.expert_layers.end(), true),
      .width = dimensions.expert_width,
      .shared_width = dimensions.shared_width};
  for (const LayerSpec& layer : spec.layers) {
    if (layer.experts) summary.chosen = layer.experts->chosen;
  }
  const std::int64_t chosen = summary.chosen.value_or(summary.count);
  // All experts have the same size.
  summary.active_parameters = parameters - of_experts / summary.count * (summary.count - chosen);
  return summary;
}

std::int64_t layer_cache_bytes(const Dimensions& dimensions) {
  constexpr std::int64_t kElementBytes = 2;
  const HeadShape& heads = dimensions.heads;
  const std::int64_t of_layer = dimensions.mla && dimensions.mla->key_value > 0
                                    ? dimensions.mla->key_value + heads.shared_key_dim
                                    : heads.kv_heads * (heads.head_dim + heads.value_dim);
  return kElementBytes * of_layer;
}

}  // namespace

std::int64_t kv_cache_bytes_per_token(const Dimensions& dimensions) {
  return std::ssize(dimensions.attention_layers()) * layer_cache_bytes(dimensions);
}

std::int64_t kv_cache_bytes_per_token(const ModelSpec& spec) {
  std::int64_t bytes = 0;
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    if (!spec.dimensions.attends(layer) || spec.sharing_of(layer).from) continue;
    bytes += layer_cache_bytes(spec.dimensions_of(layer));
  }
  return bytes;
}

Inventory take_inventory(const Model& model, std::span<const TensorPair> copies) {
  const Checkpoint& checkpoint = model.checkpoint();
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const auto projections = projection_roles(model);
  const std::vector<TensorRule> sites = sites_of(model.spec().architecture);
  Copies repeated;
  for (const TensorPair& pair : copies) repeated.emplace(pair.copy, pair.original);

  std::int64_t of_experts = 0;  // parameters
  Inventory inventory;
  ModelSummary& summary = inventory.summary;
  const auto describe = [](const CheckpointTensor& tensor, const std::string& name) {
    return TensorSummary{.name = name,
                         .dtype = tensor.view.storage_name(),
                         .shape = tensor.view.shape,
                         .bytes = stored_bytes(tensor.view)};
  };
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (!model.owns(tensor.name)) continue;
    TensorSummary row = describe(tensor, tensor.name);
    const auto projection = projections.find(&tensor);
    const RoleOfTensor role = projection == projections.end()
                                  ? other_role(model, sites, tensor.name)
                                  : projection->second;
    row.role = role.role;
    row.layer = role.layer;
    row.expert = role.expert;
    if (row.role.starts_with(kOfExpert)) of_experts += tensor.view.element_count();
    const auto original = repeated.find(&tensor);
    if (original != repeated.end()) row.tied_to = original->second->name;
    if (row.role != "buffer" && !row.tied_to) summary.parameters += tensor.view.element_count();
    inventory.tensors.push_back(std::move(row));
  }
  for (const auto& [alias, name] : checkpoint.aliases()) {
    if (!model.owns(alias)) continue;
    TensorSummary row = describe(*checkpoint.find(name), alias);
    const RoleOfTensor role = other_role(model, sites, alias);
    row.role = role.role;
    row.layer = role.layer;
    row.tied_to = name;
    row.bytes = 0;  // the layer stores none of its own
    inventory.tensors.push_back(std::move(row));
  }

  summary.name = model.name();
  summary.stack = model.stack();
  summary.architecture = model.spec().architecture.name;
  summary.attention_parameters = count_attention_parameters(model);
  summary.layers = dimensions.layers;
  summary.heads = heads.heads;
  summary.kv_heads = heads.kv_heads;
  summary.head_dim = heads.head_dim;
  summary.width = dimensions.width;
  if (dimensions.mlp_width > 0) summary.mlp_width = dimensions.mlp_width;
  summary.vocabulary = dimensions.vocabulary;
  summary.context = dimensions.context;
  summary.dtype = main_dtype(checkpoint);
  summary.bytes = checkpoint.file_bytes();
  summary.causal = model.spec().causal;
  const std::vector<LayerSpec>& specs = model.spec().layers;
  summary.rotary = std::any_of(specs.begin(), specs.end(), [](const LayerSpec& layer) {
    return layer.attention.rope.has_value();
  });
  if (summary.causal && !model.spec().architecture.compresses_keys)
    summary.kv_cache_bytes_per_token = kv_cache_bytes_per_token(model.spec());
  if (dimensions.mla && dimensions.mla->key_value > 0) {
    Dimensions full = dimensions;
    full.mla.reset();
    MlaSummary& latent = summary.mla.emplace();
    if (dimensions.mla->query > 0) latent.query_rank = dimensions.mla->query;
    latent.rank = dimensions.mla->key_value;
    latent.rotary_dim = heads.shared_key_dim;
    latent.kv_cache_bytes_of_heads = kv_cache_bytes_per_token(full);
  }
  summary.tied_embedding = is_tied(model, repeated);
  add_mixers(dimensions, summary);
  if (dimensions.experts > 0)
    summary.experts = summarize_experts(model, summary.parameters, of_experts);
  summary.shared_weights = shared_weights(model);
  return inventory;
}

ModelSummary summarize(const Model& model) {
  return take_inventory(model, declared_copies(model)).summary;
}

}  // namespace attnscope
