#include "attnscope/model/model.h"

#include <algorithm>
#include <stdexcept>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/expected_roles.h"

namespace attnscope {
namespace {

constexpr std::string_view kWeightEnding = ".weight";
constexpr std::string_view kBiasEnding = ".bias";

std::size_t slot(Role role) { return static_cast<std::size_t>(role); }

/// The weight rule of a role in one layer: W_K may also compute the values.
WeightRule rule_in_layer(const ModelSpec& spec, const WeightRule& rule, std::int64_t layer) {
  if (rule.role != Role::value || !spec.sharing_of(layer).values_are_keys) return rule;
  for (const WeightRule& other : spec.architecture.weights) {
    if (other.role != Role::key) continue;
    WeightRule same = other;
    same.role = Role::value;
    return same;
  }
  return rule;
}

/// Keeps one rule per role of those with WeightRule::is_other_name.
std::vector<WeightRule> named_rules(const ModelSpec& spec, const Checkpoint& checkpoint,
                                    const std::string& prefix) {
  const auto is_stored = [&](const WeightRule& rule) {
    for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
      const LayerNumbers numbers = layer_numbers(spec.dimensions, layer);
      if (checkpoint.find(prefix + fill_pattern(rule.tensor, numbers)) != nullptr) return true;
    }
    return false;
  };
  std::vector<WeightRule> chosen;
  for (const WeightRule& rule : spec.architecture.weights) {
    if (rule.is_other_name) {
      if (!is_stored(rule)) continue;
      std::erase_if(chosen, [&](const WeightRule& usual) { return usual.role == rule.role; });
    }
    chosen.push_back(rule);
  }
  return chosen;
}

}  // namespace

Model::Model(Checkpoint checkpoint, ModelSpec spec, std::string name)
    : Model(std::make_shared<const Checkpoint>(std::move(checkpoint)), std::move(spec),
            std::move(name)) {}

Model::Model(std::shared_ptr<const Checkpoint> checkpoint, ModelSpec spec, std::string name)
    : name_(std::move(name)), checkpoint_(std::move(checkpoint)), spec_(std::move(spec)) {
  choose_prefix();
  spec_.architecture.weights = named_rules(spec_, *checkpoint_, prefix_);
  for (std::int64_t layer = 0; layer < dimensions().layers; ++layer) {
    auto& weights = layers_.emplace_back();
    for (const Role role : kProjections) {
      weights[slot(role)].missing =
          spec_.architecture.name + " has no '" + std::string(role_name(role)) + "'";
      if (is_stored(role)) continue;
      weights[slot(role)].missing =
          "'" + std::string(role_name(role)) + "' is not stored: it is computed from latents";
    }
    for (const WeightRule& rule : spec_.architecture.weights) {
      std::string none = why_not_in_layer(spec_, rule.role, layer);
      weights[slot(rule.role)] =
          none.empty() ? locate(rule_in_layer(spec_, rule, layer), layer, dimensions(layer))
                       : Weight{.missing = std::move(none)};
    }
  }
  expert_tensors_ = choose_expert_tensors();
  if (std::none_of(kProjections.begin(), kProjections.end(),
                   [&](Role role) { return has(role); })) {
    const Role first = spec_.architecture.weights.front().role;
    throw Error(ErrorKind::format, {.file = checkpoint_->main_file().string(),
                                    .layer = 0,
                                    .problem = verbatim(weight(0, first).missing)});
  }
}

Model Model::named(std::string name) const {
  Model copy = *this;
  copy.name_ = std::move(name);
  return copy;
}

ErrorParts Model::wrong_shape(const CheckpointTensor& tensor, const Shape& expected,
                              std::optional<std::int64_t> layer) const {
  ErrorParts parts = checkpoint_->parts_of(
      tensor, verbatim("shape " + shape_text(tensor.view.shape) + ", expected " +
                       shape_text(expected) + " (from " + spec_.source + ")"));
  parts.layer = layer;
  return parts;
}

void Model::choose_prefix() {
  const auto& prefixes = spec_.architecture.prefixes;
  const auto& weights = spec_.architecture.weights;
  // Uses any layer, because the first ones may be in a missing shard.
  for (std::int64_t layer = 0; layer < dimensions().layers; ++layer) {
    const LayerNumbers numbers = layer_numbers(dimensions(), layer);
    for (const std::string& prefix : prefixes) {
      const bool fits = std::any_of(weights.begin(), weights.end(), [&](const WeightRule& rule) {
        return checkpoint_->find(prefix + fill_pattern(rule.tensor, numbers)) != nullptr;
      });
      if (!fits) continue;
      prefix_ = prefix;
      return;
    }
  }
  prefix_ = prefixes.front();  // an error about a missing tensor then names the usual prefix
}

bool Model::has(Role role) const {
  for (std::int64_t layer = 0; layer < dimensions().layers; ++layer) {
    if (has(role, layer)) return true;
  }
  return false;
}

std::vector<Role> Model::parts_of(Role role) const {
  std::vector<Role> parts;
  const auto add = [&](Role part) {
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  };
  for (const Role factor : factors_of(role)) {
    const auto& latent = dimensions().mla;
    const bool of_queries = factor == Role::query && latent && latent->query > 0;
    const bool of_keys =
        (factor == Role::key || factor == Role::value) && latent && latent->key_value > 0;
    if (!of_queries && !of_keys) {
      add(factor);
      continue;
    }
    add(of_queries ? Role::query_down : Role::kv_down);
    add(of_queries ? Role::query_up : Role::kv_up);
  }
  return parts;
}

bool Model::is_stored(Role role) const { return parts_of(role) == std::vector{role}; }

bool Model::is_of_latents(Role role) const {
  const std::vector<Role> parts = parts_of(role);
  return std::any_of(parts.begin(), parts.end(), [&](Role part) {
    return part != role && (part == Role::query_down || part == Role::kv_down);
  });
}

bool Model::has(Role role, std::int64_t layer) const {
  if (!has_circuits() && is_product(role)) return false;
  if (is_mla_product(role) && !has_mla_keys()) return false;
  const std::vector<Role> parts = parts_of(role);
  return std::all_of(parts.begin(), parts.end(),
                     [&](Role part) { return weight(layer, part).tensor != nullptr; });
}

bool Model::has_mla_keys() const { return dimensions().mla && dimensions().mla->key_value > 0; }

/// Circuits map the residual stream to itself, so attention must read nothing else.
bool Model::has_circuits() const { return dimensions().attention_streams == 1; }

bool Model::describes(Role role) const {
  if (!has_circuits() && is_product(role)) return false;
  if (is_mla_product(role) && !has_mla_keys()) return false;
  const auto& rules = spec_.architecture.weights;
  const std::vector<Role> parts = parts_of(role);
  return std::all_of(parts.begin(), parts.end(), [&](Role part) {
    return std::any_of(rules.begin(), rules.end(),
                       [&](const WeightRule& rule) { return rule.role == part; });
  });
}

const Weight& Model::weight(std::int64_t layer, Role role) const {
  if (!is_projection(role)) {
    throw std::invalid_argument('\'' + std::string(role_name(role)) +
                                "' is not a single projection");
  }
  return layers_.at(static_cast<std::size_t>(layer))[slot(role)];
}

Site Model::find(const std::string& name, const std::optional<Shape>& shape) const {
  const CheckpointTensor* tensor = checkpoint_->find(name);
  if (tensor == nullptr) {
    return {.missing = "tensor '" + name + "' is missing" + checkpoint_->missing_note(name)};
  }
  if (shape && tensor->view.shape != *shape) {
    throw Error(ErrorKind::format, wrong_shape(*tensor, *shape));
  }
  return {.tensor = tensor};
}

Site Model::norm_tensor(const NormSpec& norm, std::optional<std::int64_t> layer, const Shape& shape,
                        std::string_view ending, std::string_view old_ending) const {
  const std::string name =
      layer ? prefix_ + fill_pattern(norm.tensor, layer_numbers(dimensions(), *layer))
            : norm.tensor;
  std::string full = name + std::string(ending);
  if (checkpoint_->find(full) == nullptr) {
    std::string old = name + std::string(old_ending);
    if (checkpoint_->find(old) != nullptr) full = std::move(old);
  }
  return find(full, shape);
}

Site Model::norm_gain(const NormSpec& norm, std::optional<std::int64_t> layer,
                      const Shape& shape) const {
  if (!norm.has_gain()) return {};
  return norm_tensor(norm, layer, shape, kWeightEnding, ".gamma");
}

Site Model::norm_bias(const NormSpec& norm, std::optional<std::int64_t> layer,
                      const Shape& shape) const {
  if (!norm.has_bias()) return {};
  return norm_tensor(norm, layer, shape, kBiasEnding, ".beta");
}

InputNorm Model::input_norm(std::int64_t layer) const {
  if (spec_.layers.empty()) {
    throw Error(
        ErrorKind::unsupported,
        {.file = spec_.source, .problem = "does not specify which norm feeds the projections"});
  }
  const auto spec_of = [&](std::int64_t of_layer) -> const LayerSpec& {
    return spec_.layers[static_cast<std::size_t>(of_layer)];
  };
  // If no norm precedes the attention, it reads the output of the last norm before it.
  std::optional<NormSpec> norm = spec_of(layer).attention_input;
  std::int64_t of_layer = layer;
  if (!norm && layer > 0) {
    of_layer = layer - 1;
    norm = spec_of(of_layer).output_norm();
  } else if (!norm && !spec_.stream.has_projection) {
    norm = spec_.stream.embedding_norm;
  }
  if (!norm) return {};
  const std::int64_t streams = dimensions().attends(layer) ? dimensions().attention_streams : 1;
  const std::int64_t width = streams * spec_.dimensions_of(layer).width;
  return {.norm = norm, .gain = norm_gain(*norm, of_layer, {width})};
}

bool Model::norms_queries() const {
  return !spec_.layers.empty() && spec_.layers.front().attention.query_norm.has_value();
}

std::optional<std::string> why_not_analyzed(const Checkpoint& checkpoint,
                                            const CheckpointTensor& tensor) {
  const DTypeInfo& dtype = dtype_info(tensor.view.dtype);
  if (dtype.kind == DTypeClass::undecoded) {
    throw Error(ErrorKind::unsupported,
                checkpoint.parts_of(tensor, "dtype " + std::string(tensor.view.storage_name()) +
                                                " is not supported"));
  }
  if (dtype.kind == DTypeClass::integer) {
    return "dtype " + std::string(dtype.name) + " has no real values";
  }
  return std::nullopt;
}

}  // namespace attnscope
