#include "attnscope/features/plan/methods/methods.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/model/rope.h"

namespace attnscope {
namespace {

using Forms = std::vector<Form>;

/// What stock classes of a family take beside `layers`, `width` and `ranks`. Source: transformers,
/// models/*/configuration_*.py and modeling_*.py; tests load each.
struct FamilyForms {
  std::string_view architecture;
  Forms forms;
  bool heads_divide_width = false;  // its config refuses other numbers of heads
};

const FamilyForms* forms_of(const Model& model) {
  using enum Form;
  static const std::array<FamilyForms, 9> kFamilies = {{
      {"llama", {hidden, head_width, kv_heads, heads, latent}, true},
      {"mistral", {hidden, head_width, kv_heads, heads, latent}},
      {"qwen2", {hidden, head_width, kv_heads, heads, latent}},
      {"qwen3", {hidden, heads}},
      {"phi3", {hidden, kv_heads, heads}},
      {"gemma", {hidden, kv_heads, heads}},
      {"gemma2", {heads}, true},
      {"gemma3", {heads}, true},
      {"phi", {heads}},
  }};
  const std::string& name = model.spec().architecture.name;
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                  [&](const FamilyForms& one) { return one.architecture == name; });
  return found == kFamilies.end() ? nullptr : &*found;
}

bool has_windows(const ModelSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(), [&](const LayerSpec& layer) {
    const MaskSpec& mask = layer.attention.mask;
    return mask.chunk.has_value() ||
           (mask.reach && *mask.reach + 1 < spec.dimensions.context.value_or(kMaxSize));
  });
}

bool has_mlp_biases(const Model& model) {
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : {Role::gate, Role::up, Role::down}) {
      if (model.weight(layer, role).bias != nullptr) return true;
    }
  }
  return false;
}

/// Why rotary pairs cannot be regrouped; empty where they can.
std::string why_no_rotary(const ModelSpec& spec) {
  const auto& rope = spec.layers.front().attention.rope;
  if (!rope) return "its positions are not rotary";
  const bool lengths_differ = rope->short_factor != rope->long_factor || rope->alpha;
  if (rope->scaling == RopeScaling::dynamic || lengths_differ) {
    return "its rotation depends on the length of a text";
  }
  if (rope->pairs != RotaryPairs::halves || rope->fraction != 1 || rope->dimensions || rope->last) {
    return "only some of a head's elements turn, or in other pairs";
  }
  for (const LayerSpec& layer : spec.layers) {
    if (layer.attention.rope != rope) return "its layers turn in different ways";
    if (layer.attention.query_norm || layer.attention.key_norm) {
      return "its queries and keys are normed";
    }
  }
  return "";
}

/// Throws Error(format) for layers that the model does not have.
void check_layers(const Model& model, const Choice& choice) {
  const std::int64_t layers = model.dimensions().layers;
  const auto refuse = [&] {
    throw Error(ErrorKind::format, "layer",
                "the plan names layers that " + model.name() + " does not have");
  };
  if (choice.form == Form::layers) {
    if (choice.kept.size() != 1 || choice.kept.front().empty()) refuse();
    const auto& kept = choice.kept.front();
    const bool ascends =
        std::adjacent_find(kept.begin(), kept.end(), std::greater_equal<>()) == kept.end();
    if (!ascends || kept.front() < 0 || kept.back() >= layers) refuse();
  }
  for (const auto& [place, rank] : choice.ranks) {
    if (place.first < 0 || place.first >= layers) refuse();
  }
}

std::string why_no_layers(const Model& model) {
  const ModelSpec& spec = model.spec();
  if (spec.dimensions.layers < 2) return "it has one layer";
  if (spec.dimensions.layer_groups > 0) return "its layers share one set of weights";
  if (spec.dimensions.mixers != nullptr || !spec.own_dimensions.empty()) {
    return "its layers are of several kinds";
  }
  const std::vector<bool>& sparse = spec.expert_layers;
  const bool some = std::find(sparse.begin(), sparse.end(), false) != sparse.end();
  const std::string& from =
      spec.dimensions.experts > 0 ? spec.architecture.experts->layers.first.name : std::string();
  if (some && from != "first_k_dense_replace") {
    return "which of its layers have experts is said by their numbers";
  }
  if (!spec.key_values.empty()) return "layers take keys and values of earlier ones";
  if (spec.architecture.norm->not_in_first_layer) {
    return "its first layer lacks a norm that the others have";
  }
  const auto& window = spec.architecture.window;
  if (window && window->last_is_full) return "its last layer never has a window";
  for (const LayerSpec& layer : spec.layers) {
    const auto& indexer = layer.attention.indexer;
    if (indexer && indexer->shared) return "layers see the keys that an earlier one selects";
    if (layer.input || layer.convolution || layer.own_input || layer.attention.value_embedding) {
      return "layers read more than the stream";
    }
  }
  return "";
}

std::string why_no_width(const Model& model) {
  const ModelSpec& spec = model.spec();
  if (spec.dimensions.experts > 0) return "its layers have experts";
  if (!model.describes(Role::down) || spec.dimensions.mlp_width < 2) return "it has no MLP";
  if (!spec.own_dimensions.empty()) return "its layers have MLPs of several widths";
  if (spec.dimensions.layer_groups > 0) return "its layers share one set of weights";
  const ConfigKeys& keys = spec.architecture.keys;
  if (keys.mlp_width.name.empty()) return "its config has no key for it";
  if (!keys.mlp_adjusted.enabled.name.empty()) return "its class rounds what its config says";
  return "";
}

}  // namespace

std::int64_t mlp_count(const Model& model) {
  const Model* other = stack_of_same_width(model);
  return model.dimensions().layers + (other == nullptr ? 0 : other->dimensions().layers);
}

std::string why_not(const Model& model, Form form) {
  const ModelSpec& spec = model.spec();
  if (!spec.not_run.empty()) return spec.not_run;
  if (spec.layers.empty()) return "its forward pass is not described";
  switch (form) {
    case Form::ranks: return spec.dimensions.layer_groups > 0 ? "its layers share weights" : "";
    case Form::experts: return why_no_experts(model);
    case Form::layers: return why_no_layers(model);
    case Form::width: return why_no_width(model);
    default: break;
  }
  const FamilyForms* family = forms_of(model);
  const std::string name = spec.architecture.name;
  const bool takes = family != nullptr && std::find(family->forms.begin(), family->forms.end(),
                                                    form) != family->forms.end();
  if (!takes || spec.dimensions.experts > 0 || spec.dimensions.latent) {
    return form == Form::heads || form == Form::head_width
               ? name + " has no key for fewer or narrower heads"
               : "stock " + name + " cannot take it";
  }
  if (form == Form::kv_heads && spec.dimensions.heads.kv_heads < 2) {
    return "it has one key/value head";
  }
  if (form == Form::hidden && spec.multimodal) return "other models beside it read its stream";
  if (form == Form::hidden || form == Form::heads) return "";
  if (form == Form::latent && has_windows(spec)) return "its layers see windows of a text";
  if (form == Form::latent && has_mlp_biases(model)) return "its MLPs have biases";
  return why_no_rotary(spec);
}

std::vector<Form> possible_forms(const Model& model) {
  std::vector<Form> forms;
  for (std::size_t form = 0; form < kFormNames.size(); ++form) {
    if (why_not(model, static_cast<Form>(form)).empty()) forms.push_back(static_cast<Form>(form));
  }
  return forms;
}

std::vector<std::int64_t> possible_sizes(const Model& model, Form form) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  std::int64_t whole = 0, step = 1;
  switch (form) {
    case Form::layers: whole = dimensions.layers; break;
    case Form::width: whole = dimensions.mlp_width; break;
    case Form::hidden:
      whole = dimensions.width;
      step = std::lcm(heads.heads, std::int64_t{2});
      break;
    case Form::head_width:
      whole = heads.head_dim;
      step = 2;
      break;
    case Form::kv_heads: whole = heads.kv_heads; break;
    case Form::heads: whole = heads.heads; break;
    case Form::latent:
      whole = heads.total_dim(Role::key) + heads.total_dim(Role::value);
      step = 2;
      break;
    case Form::experts: return possible_expert_counts(model);
    case Form::ranks: return {};
  }
  const FamilyForms* family = forms_of(model);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = whole; size >= 1; --size) {
    if (size != whole && size % step != 0) continue;
    if (form == Form::kv_heads && heads.kv_heads % size != 0) continue;
    if (form == Form::heads) {
      // A head of every group goes, or, where each has one, heads with their keys and values.
      if (heads.group_size() > 1 && size % heads.kv_heads != 0) continue;
      if (family->heads_divide_width && dimensions.width % size != 0) continue;
    }
    if (form == Form::latent && size < 4) continue;
    sizes.push_back(size);
  }
  return sizes;
}

ChangedModel make_smaller(const Model& model, const Choice& choice, const TextStatistics& text,
                          const Compute& compute) {
  check_layers(model, choice);
  switch (choice.form) {
    case Form::layers: return without_layers(model, choice.kept.front(), text.dtype);
    case Form::width: return with_width(model, choice, text, compute);
    case Form::hidden: return with_hidden(model, choice.size, text, compute);
    case Form::head_width: return with_head_width(model, choice, text, compute);
    case Form::kv_heads: return with_kv_heads(model, choice.size, text, compute);
    case Form::heads: return with_heads(model, choice, text, compute);
    case Form::latent: return with_latent(model, choice, text, compute);
    case Form::experts: return with_experts(model, choice);
    case Form::ranks: return with_ranks(model, choice, text, compute);
  }
  return ChangedModel(model);
}

void for_layers(ChangedModel& changed, const TextStatistics& text, const Compute& compute,
                const std::function<void(std::int64_t layer)>& make) {
  const std::int64_t layers = changed.source().dimensions().layers;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    compute.check_stop();
    if (text.finished == nullptr) {
      make(layer);
    } else {
      text.finished->put(changed, layer, [&] { make(layer); });
    }
  }
}

void check_numbers(const std::vector<std::int64_t>& kept, std::int64_t count, std::int64_t limit) {
  const bool ascends =
      std::adjacent_find(kept.begin(), kept.end(), std::greater_equal<>()) == kept.end();
  if (std::ssize(kept) == count && ascends && !kept.empty() && kept.front() >= 0 &&
      kept.back() < limit) {
    return;
  }
  throw Error(ErrorKind::format, "kept",
              "not " + std::to_string(count) + " different numbers below " + std::to_string(limit));
}

std::vector<std::int64_t> largest(const std::vector<double>& scores, std::int64_t count) {
  std::vector<std::int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

std::int64_t layer_of_tensor(const Model& model, const std::string& name) {
  const std::string& pattern = model.spec().architecture.weights.front().tensor;
  const std::string start = model.prefix() + pattern.substr(0, pattern.find("{layer}"));
  if (!name.starts_with(start)) return -1;
  // The table of T5's biases of scores lies in the first layer, and holds for all.
  const auto& buckets = model.spec().architecture.scores.buckets;
  if (buckets && name == model.prefix() + buckets->table) return -1;
  std::size_t at = start.size();
  std::int64_t layer = 0;
  constexpr std::size_t kDigits = 6;
  for (; at < name.size() && at < start.size() + kDigits && name[at] >= '0' && name[at] <= '9';
       ++at) {
    layer = 10 * layer + (name[at] - '0');
  }
  return at > start.size() && at < name.size() && name[at] == '.' ? layer : -1;
}

RopeFrequencies frequencies_of(const Model& model) {
  const ModelSpec& spec = model.spec();
  return rope_frequencies(*spec.layers.front().attention.rope, spec.dimensions.heads.head_dim,
                          spec.dimensions.context.value_or(1), spec.source);
}

void set_frequencies(ChangedModel& model, const std::vector<double>& radians, double gain,
                     std::int64_t head_dim) {
  const ModelSpec& spec = model.source().spec();
  const double base = spec.layers.front().attention.rope->theta;
  std::string factors;
  for (std::size_t pair = 0; pair < radians.size(); ++pair) {
    const double turned =
        std::pow(base, -2 * static_cast<double>(pair) / static_cast<double>(head_dim));
    factors += (pair == 0 ? "" : ", ") + shortest_decimal(turned / radians[pair]);
  }
  const std::string context = std::to_string(spec.dimensions.context.value_or(1));
  const std::string rest = "\"rope_type\": \"longrope\", \"factor\": 1.0, \"attention_factor\": " +
                           shortest_decimal(gain) + ", \"short_factor\": [" + factors +
                           "], \"long_factor\": [" + factors +
                           "], \"original_max_position_embeddings\": " + context + "}";
  const std::string theta = shortest_decimal(base);
  model.set_config("rope_parameters", "{\"rope_theta\": " + theta + ", " + rest);
  // Releases of transformers before 5 read these two, and pass over the other.
  model.set_config("rope_scaling", "{" + rest);
  model.set_config("rope_theta", theta);
}

}  // namespace attnscope
