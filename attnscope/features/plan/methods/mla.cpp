// MLA conversion, to the attention of DeepSeek-V3. All heads share the rotary keys. Values, and the
// key components without rotation, are stored in one latent.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/plan/methods/family_support.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/mla_layer.h"
#include "attnscope/features/plan/search.h"

namespace attnscope {

Method mla_method();

namespace {

/// Source: transformers, models/*/configuration_*.py and modeling_*.py; tests load each.
constexpr std::array<std::string_view, 3> kLikeDeepseek = {"llama", "mistral", "qwen2"};

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

std::string why_not_mla(const Model& model) {
  const ModelSpec& spec = model.spec();
  if (!is_dense_of(model, kLikeDeepseek)) {
    return "conversion to MLA is not supported for " + spec.architecture.name;
  }
  if (has_windows(spec)) return "some layers have sliding-window or chunked attention";
  if (has_mlp_biases(model)) return "the MLPs have biases";
  return why_no_rotary(spec);
}

std::int64_t cached_elements(const Model& model) {
  const HeadShape& heads = model.dimensions().heads;
  return heads.total_dim(Role::key) + heads.total_dim(Role::value);
}

std::vector<std::int64_t> cache_sizes(const Model& model) {
  std::vector<std::int64_t> sizes = descending_sizes(cached_elements(model), /*step=*/2);
  std::erase_if(sizes, [](std::int64_t size) { return size < 4; });
  return sizes;
}

/// Measures rotary shares of 1/2, 3/8 and 5/8. For a small cache, every kept key dimension is
/// rotary.
Choice search_rotary_share(Planner& planner, std::int64_t elements) {
  const Model& model = planner.model();
  const std::int64_t rotary_keys = model.dimensions().heads.total_dim(Role::key);
  const std::int64_t whole = cached_elements(model);
  const auto even = [](double value) {
    return std::max<std::int64_t>(2, static_cast<std::int64_t>(value / 2) * 2);
  };
  if (8 * elements < 3 * whole || elements == whole) {
    const std::int64_t rotary =
        elements == whole ? rotary_keys : even(0.625 * static_cast<double>(elements));
    return {.method = mla_method(), .size = rotary, .joint = elements - rotary, .exact = true};
  }
  Choice best;
  double least = std::numeric_limits<double>::infinity();
  for (const double share : {0.5, 0.375, 0.625}) {
    const std::int64_t rotary = std::min(even(share * static_cast<double>(elements)), rotary_keys);
    const Choice choice{
        .method = mla_method(), .size = rotary, .joint = elements - rotary, .exact = false};
    const double nll = planner.nll_of(choice, /*all=*/false);
    if (nll >= least) continue;
    least = nll;
    best = choice;
  }
  return best;
}

void remove_heads(ChangedModel& changed) {
  const Model& model = changed.source();
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : {Role::query, Role::key, Role::value}) {
      const Weight& weight = model.weight(layer, role);
      changed.remove(weight.tensor->name);
      if (weight.bias != nullptr) changed.remove(weight.bias->name);
    }
  }
}

void set_mla_config(ChangedModel& changed, const MlaShape& shape, bool biased) {
  const Dimensions& dimensions = changed.source().dimensions();
  const std::string mlp_key = changed.key_of(changed.source().spec().architecture.keys.mlp_width);
  for (const char* key :
       {"head_dim", "rope_theta", "rope_scaling", "mlp_bias", "pretraining_tp", "sliding_window",
        "use_sliding_window", "max_window_layers", "layer_types"}) {
    changed.drop_config(key);
  }
  changed.set_config("model_type", "\"deepseek_v3\"");
  changed.set_config("architectures", "[\"DeepseekV3ForCausalLM\"]");
  changed.set_config("attention_bias", "true");
  changed.set_config("rope_interleave", "true");
  changed.set_config("q_lora_rank", biased ? std::to_string(shape.width + 1) : "null");
  changed.set_config("kv_lora_rank", shape.rank + 1);
  changed.set_config("qk_nope_head_dim", shape.content);
  changed.set_config("qk_rope_head_dim", shape.rotary);
  changed.set_config("v_head_dim", shape.heads.value_dim);
  changed.set_config("num_key_value_heads", shape.heads.heads);
  changed.set_config("first_k_dense_replace", dimensions.layers);
  changed.set_config("num_nextn_predict_layers", 0);
  for (const char* key :
       {"n_routed_experts", "n_shared_experts", "num_experts_per_tok", "n_group", "topk_group"}) {
    changed.set_config(key, 1);
  }
  changed.set_config("moe_intermediate_size", dimensions.mlp_width);
  if (!changed.config(mlp_key)) changed.set_config(mlp_key, dimensions.mlp_width);
}

ChangedModel convert_to_mla(const Model& model, const Choice& choice, const TextStatistics& text,
                            const Compute& compute) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const std::int64_t turning = heads.total_dim(Role::key);
  if (choice.size < 2 || choice.size % 2 != 0 || choice.size > turning || choice.joint < 1) {
    throw Error(ErrorKind::format, "mla",
                "expected an even number of rotary dimensions from 2 to " +
                    std::to_string(turning) + ", and at least one latent dimension");
  }
  MlaShape shape{.heads = heads,
                 .width = dimensions.width,
                 .rotary = choice.size,
                 .rank = choice.joint,
                 .content = choice.exact ? 0 : heads.head_dim,
                 .slots = chosen_slots(model, choice.size / 2, !choice.exact, text, compute)};
  ChangedModel changed(model, text.dtype);
  const bool biased = model.weight(0, Role::query).bias != nullptr;
  set_mla_config(changed, shape, biased);
  const RopeFrequencies frequencies = frequencies_of(model);
  std::vector<double> radians;
  for (const RotarySlot& slot : shape.slots) {
    radians.push_back(
        static_cast<double>(frequencies.radians_per_token[static_cast<std::size_t>(slot.pair)]));
  }
  set_frequencies(changed, radians, frequencies.gain, choice.size);
  changed.drop_config("rope_scaling");  // no transformers release reads it for this model
  changed.drop_config("rope_theta");
  remove_heads(changed);
  for_layers(changed, text, compute,
             [&](std::int64_t layer) { put_latent_layer(changed, layer, shape, text, compute); });
  return changed;
}

// The size of the converted model.

std::int64_t elements_of(const CheckpointTensor* tensor) {
  return tensor == nullptr ? 0 : tensor->view.element_count();
}

/// Elements that MLA replaces: queries, keys and values of all layers, and biases.
std::int64_t replaced_elements(const Model& model, Counted counted) {
  const bool all = counted == Counted::parameters;
  std::int64_t sum = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : {Role::query, Role::key, Role::value}) {
      sum += elements_of(model.weight(layer, role).tensor);
      if (all) sum += elements_of(model.weight(layer, role).bias);
    }
    if (all) sum += elements_of(model.weight(layer, Role::output).bias);
  }
  return sum;
}

/// Non-rotary dimensions per query head.
std::int64_t content_of(const Model& model, const Choice& choice) {
  return choice.exact ? 0 : model.dimensions().heads.head_dim;
}

std::int64_t latent_elements(const Model& model, const Choice& choice, Counted counted) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const std::int64_t width = dimensions.width, rank = choice.joint + 1;
  const std::int64_t content = content_of(model, choice);
  const std::int64_t query = heads.heads * (content + choice.size);
  const bool biased = model.weight(0, Role::query).bias != nullptr;
  const std::int64_t of_queries = biased ? (width + 1) * (width + query) : query * width;
  const std::int64_t of_keys = (rank + choice.size) * width;
  const std::int64_t up = heads.heads * (content + heads.value_dim) * rank;
  const std::int64_t vectors =  // biases, and gains of the latent norms
      (biased ? 2 * (width + 1) : 0) + 2 * rank + choice.size + width;
  const std::int64_t counted_vectors = counted == Counted::parameters ? vectors : 0;
  return dimensions.layers * (of_queries + of_keys + up + counted_vectors);
}

ModelSize size_of_mla(const Model& model, const ModelSize& before, const Choice& choice) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const auto added = [&](Counted counted) {
    return latent_elements(model, choice, counted) - replaced_elements(model, counted);
  };
  const std::int64_t content = content_of(model, choice);
  const std::int64_t recomputed = (choice.joint + 1) * (content + heads.value_dim);
  const std::int64_t more = content + choice.size - heads.head_dim + recomputed;
  ModelSize out = before;
  out.parameters += added(Counted::parameters);
  out.kv_cache_bytes_per_token = 2 * dimensions.layers * (choice.size + choice.joint + 1);
  out.flops_per_token += 2 * static_cast<double>(added(Counted::products));
  out.flops_per_token +=
      static_cast<double>(dimensions.layers) * flops_of_attention(model, heads.heads, more);
  return out;
}

/// Rotary dimensions and latent dimensions: "32+32".
std::optional<Choice> parse_latent(const std::string& value, const Model&) {
  const std::size_t plus = value.find('+');
  if (plus == std::string::npos) return std::nullopt;
  const auto rotary = whole_number(std::string_view(value).substr(0, plus));
  const auto joint = whole_number(std::string_view(value).substr(plus + 1));
  if (!rotary || !joint) return std::nullopt;
  return Choice{.method = mla_method(), .size = *rotary, .joint = *joint};
}

/// `set` cannot select a conversion in which every kept key dimension is rotary.
std::string target_of_latent(const Model&, const Choice& choice, const ModelSize& after) {
  if (choice.exact) return "kv_bytes " + std::to_string(after.kv_cache_bytes_per_token);
  return "set mla=" + std::to_string(choice.size) + "+" + std::to_string(choice.joint);
}

std::optional<ChoiceProblem> check_latent(const Model& model, const Choice& choice) {
  const std::int64_t keys = model.dimensions().heads.total_dim(Role::key);
  if (choice.size < 2 || choice.size % 2 != 0 || choice.size > keys) {
    return ChoiceProblem{"size", "expected an even number from 2 to " + std::to_string(keys)};
  }
  const std::int64_t most = cached_elements(model);
  if (choice.joint < 1 || choice.joint > most) {
    return ChoiceProblem{"joint", "expected a number from 1 to " + std::to_string(most)};
  }
  return std::nullopt;
}

}  // namespace

Method mla_method() {
  static const MethodInfo info = {
      .name = "mla",
      .set_example = "mla=32+32",
      .remark = "as deepseek_v3",
      .combines = false,
      .makes_latents = true,
      .why_no_keep = "mla makes the KV cache smaller, not the model",
      .why_not = why_not_mla,
      .sizes = cache_sizes,
      .search = search_rotary_share,
      .search_steps =
          [](const Model&, std::span<const std::int64_t> sizes) {
            return 3 * sizes.size();  // rotary shares
          },
      .sketch =
          [](Planner&, std::int64_t size) {
            return Choice{.method = mla_method(), .size = size / 2, .joint = size - size / 2};
          },
      .make = convert_to_mla,
      .size_after = size_of_mla,
      // The up-projections from the latents are large.
      .changed_elements = [](const Model& model) { return 2 * attention_elements(model); },
      .fitting_bytes = attention_fitting_bytes,
      .words =
          [](const Choice& choice, std::int64_t) {
            return std::to_string(choice.size) + " rotary + " + std::to_string(choice.joint) +
                   " latent + 1";
          },
      .parse_set = parse_latent,
      .target = target_of_latent,
      .check = check_latent,
  };
  return &info;
}

}  // namespace attnscope
