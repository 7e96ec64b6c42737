#include "attnscope/model/summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "attnscope/base/text.h"
#include "attnscope/model/tensor_roles.h"

namespace attnscope {

ExpertFacts expert_facts(const Model& model, std::int64_t parameters, std::int64_t of_experts) {
  const ModelSpec& spec = model.spec();
  const Dimensions& dimensions = spec.dimensions;
  ExpertFacts facts{
      .count = dimensions.experts,
      .layers = std::count(spec.expert_layers.begin(), spec.expert_layers.end(), true),
      .width = dimensions.expert_width,
      .shared_width = dimensions.shared_width};
  for (const LayerSpec& layer : spec.layers) {
    if (layer.experts) facts.chosen = layer.experts->chosen;
  }
  const std::int64_t chosen = facts.chosen.value_or(facts.count);
  // Each expert has as many as any other.
  facts.active_parameters = parameters - of_experts / facts.count * (facts.count - chosen);
  return facts;
}

namespace {

/// copy → original.
using Copies = std::map<const CheckpointTensor*, const CheckpointTensor*>;

/// None if the model has no output head over tokens: a head of labels, or one that compares texts
/// with images, has no logits of tokens.
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

void add_mixers(const Dimensions& dimensions, ModelFacts& facts) {
  if (dimensions.mixers == nullptr) return;
  std::vector<std::string> names;
  for (const LayerMixer& layer : dimensions.mixers->layers) {
    if (layer.name.empty() || std::find(names.begin(), names.end(), layer.name) != names.end()) {
      continue;
    }
    names.push_back(layer.name);
  }
  facts.attention_layers = dimensions.attention_layers();
  facts.mixer = join(names, ", ");
}

/// The pairs under these names that the files hold as two tensors of one dtype and shape.
void add_pairs(std::vector<TensorPair>& pairs, const Checkpoint& checkpoint,
               std::span<const std::pair<std::string, std::string>> names) {
  for (const auto& [copy_name, original_name] : names) {
    const CheckpointTensor* copy = checkpoint.find(copy_name);
    const CheckpointTensor* original = checkpoint.find(original_name);
    if (copy == nullptr || original == nullptr || copy == original) continue;
    if (copy->view.dtype != original->view.dtype || copy->view.shape != original->view.shape) {
      continue;
    }
    pairs.push_back({copy, original});
  }
}

std::vector<TensorPair> find_pairs(const Model& model, bool with_head) {
  const Architecture& architecture = model.spec().architecture;
  std::vector<TensorPair> pairs;
  add_pairs(pairs, model.checkpoint(), architecture.repeated);
  if (!with_head) return pairs;
  std::vector<std::pair<std::string, std::string>> heads;
  for (const std::string& head : architecture.head.weight) {
    heads.emplace_back(head, model.prefix() + architecture.embedding.tokens);
  }
  add_pairs(pairs, model.checkpoint(), heads);
  return pairs;
}

/// Tensors that differ do so soon: what is not on this machine is looked at in growing parts.
bool same_bytes(const Checkpoint& checkpoint, std::span<const std::byte> one,
                std::span<const std::byte> other) {
  bool same = one.size() == other.size();
  std::size_t size = std::size_t{16} << 10;
  for (std::size_t begin = 0; same && begin < one.size(); begin += size, size *= 8) {
    const std::size_t count = std::min(size, one.size() - begin);
    const std::array parts = {one.subspan(begin, count), other.subspan(begin, count)};
    checkpoint.need(parts);
    same = std::equal(parts[0].begin(), parts[0].end(), parts[1].begin());
  }
  return same;
}

}  // namespace

std::vector<TensorPair> possible_copies(const Model& model) {
  return find_pairs(model, /*with_head=*/true);
}

std::vector<TensorPair> declared_copies(const Model& model) {
  return find_pairs(model, /*with_head=*/model.spec().tied);
}

bool holds_same_bytes(const Model& model, const TensorPair& pair) {
  const TensorView &copy = pair.copy->view, &original = pair.original->view;
  const auto copied = all_bytes(copy), own = all_bytes(original);
  const bool same = copy.strides == original.strides &&
                    copy.storage_name() == original.storage_name() &&
                    std::equal(copied.begin(), copied.end(), own.begin(), own.end(),
                               [&](std::span<const std::byte> a, std::span<const std::byte> b) {
                                 return same_bytes(model.checkpoint(), a, b);
                               });
  model.checkpoint().check_intact(*pair.copy);
  model.checkpoint().check_intact(*pair.original);
  return same;
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
  ModelFacts& facts = inventory.facts;
  const auto describe = [](const CheckpointTensor& tensor, const std::string& name) {
    return TensorFacts{.name = name,
                       .dtype = tensor.view.storage_name(),
                       .shape = tensor.view.shape,
                       .bytes = stored_bytes(tensor.view)};
  };
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    if (!model.owns(tensor.name)) continue;
    TensorFacts row = describe(tensor, tensor.name);
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
    if (row.role != "buffer" && !row.tied_to) facts.parameters += tensor.view.element_count();
    inventory.tensors.push_back(std::move(row));
  }
  for (const auto& [alias, name] : checkpoint.aliases()) {
    if (!model.owns(alias)) continue;
    TensorFacts row = describe(*checkpoint.find(name), alias);
    const RoleOfTensor role = other_role(model, sites, alias);
    row.role = role.role;
    row.layer = role.layer;
    row.tied_to = name;
    row.bytes = 0;  // it has none of its own
    inventory.tensors.push_back(std::move(row));
  }

  facts.name = model.name();
  facts.stack = model.stack();
  facts.architecture = model.spec().architecture.name;
  facts.attention_parameters = count_attention_parameters(model);
  facts.layers = dimensions.layers;
  facts.heads = heads.heads;
  facts.kv_heads = heads.kv_heads;
  facts.head_dim = heads.head_dim;
  facts.width = dimensions.width;
  if (dimensions.mlp_width > 0) facts.mlp_width = dimensions.mlp_width;
  facts.vocabulary = dimensions.vocabulary;
  facts.context = dimensions.context;
  facts.dtype = main_dtype(checkpoint);
  facts.bytes = checkpoint.file_bytes();
  facts.causal = model.spec().causal;
  const std::vector<LayerSpec>& specs = model.spec().layers;
  facts.rotary = std::any_of(specs.begin(), specs.end(), [](const LayerSpec& layer) {
    return layer.attention.rope.has_value();
  });
  if (facts.causal && !model.spec().architecture.compresses_keys)
    facts.kv_cache_bytes_per_token = kv_cache_bytes_per_token(model.spec());
  if (dimensions.latent && dimensions.latent->key_value > 0) {
    Dimensions full = dimensions;
    full.latent.reset();
    LatentFacts& latent = facts.latent.emplace();
    if (dimensions.latent->query > 0) latent.query_rank = dimensions.latent->query;
    latent.rank = dimensions.latent->key_value;
    latent.rotary_dim = heads.shared_key_dim;
    latent.kv_cache_bytes_of_heads = kv_cache_bytes_per_token(full);
  }
  facts.tied_embedding = is_tied(model, repeated);
  add_mixers(dimensions, facts);
  if (dimensions.experts > 0) facts.experts = expert_facts(model, facts.parameters, of_experts);
  facts.shared_weights = shared_weights(model);
  return inventory;
}

ModelFacts model_facts(const Model& model) {
  return take_inventory(model, declared_copies(model)).facts;
}

}  // namespace attnscope
