// Keys and values in one latent, as DeepSeek-V3's attention keeps them: 2 R-dimensional rotary keys
// that all heads share, and a latent of values, with the keys' part that loses its positions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/mla_layer.h"

namespace attnscope {
namespace {

/// The latent's last element: so large that the norm of latents divides by it alone.
constexpr double kConstant = 16384;
constexpr double kNormEpsilon = 1e-6;  // of that norm, whatever the model's own

/// Queries of all heads, (H (content + R), D + 1): as they are, then those of the slots.
Matrix<double> latent_queries(const LayerKeys& keys, const LatentShape& shape) {
  const HeadShape& heads = shape.heads;
  const std::int64_t size = shape.content + shape.rotary;
  Matrix<double> out(heads.heads * size, keys.query.cols());
  std::fill_n(out.data(), out.rows() * out.cols(), 0.0);
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    for (std::int64_t row = 0; row < shape.content; ++row) {
      std::copy_n(&keys.query(head * heads.head_dim + row, 0), out.cols(),
                  &out(head * size + row, 0));
    }
    for (std::size_t slot = 0; slot < shape.slots.size(); ++slot) {
      const std::int64_t row = head * size + shape.content + 2 * static_cast<std::int64_t>(slot);
      add_slot_queries(keys.rotary, keys.query.view(), heads, head, shape.slots[slot], &out(row, 0),
                       &out(row + 1, 0));
    }
  }
  // Stock attention divides by the root of this size, the model by that of its own.
  const double scale = std::sqrt(static_cast<double>(size) / static_cast<double>(heads.head_dim));
  for (std::int64_t at = 0; at < out.rows() * out.cols(); ++at) out.data()[at] *= scale;
  return out;
}

std::vector<double> ones(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), 1.0);
}

/// Stock queries have no bias, unless they are made of a latent: that is (x, a constant) then.
void put_queries(ChangedModel& changed, const std::string& start, const Matrix<double>& queries,
                 const LayerKeys& keys, bool biased) {
  const std::int64_t width = queries.cols() - 1;
  if (!biased) {
    changed.put(start + "q_proj.weight", queries.view().col_block(0, width));
    return;
  }
  double energy = 0;
  for (std::int64_t at = 0; at < width; ++at) energy += keys.moments(at, at);
  const double size = std::sqrt(std::max(energy, 1e-30));
  const double normed =
      std::sqrt(kConstant * kConstant / static_cast<double>(width + 1) + kNormEpsilon);
  Matrix<double> down(width + 1, width), up(queries.rows(), width + 1);
  std::fill_n(down.data(), (width + 1) * width, 0.0);
  for (std::int64_t at = 0; at < width; ++at) down(at, at) = 1 / size;
  for (std::int64_t row = 0; row < up.rows(); ++row) {
    for (std::int64_t col = 0; col < width; ++col) up(row, col) = queries(row, col) * size * normed;
    up(row, width) = queries(row, width) * normed / kConstant;
  }
  std::vector<double> bias(static_cast<std::size_t>(width + 1), 0.0);
  bias.back() = kConstant;
  changed.put(start + "q_a_proj.weight", down.view());
  changed.put(start + "q_a_proj.bias", bias);
  changed.put(start + "q_a_layernorm.weight", ones(width + 1));
  changed.put(start + "q_b_proj.weight", up.view());
}

void put_layer(ChangedModel& changed, std::int64_t layer, const LatentShape& shape,
               const TextStatistics& text, const Compute& compute) {
  const Model& model = changed.source();
  const HeadShape& heads = shape.heads;
  const std::string start = model.prefix() + "layers." + std::to_string(layer) + ".self_attn.";
  const bool biased = model.weight(layer, Role::query).bias != nullptr;
  const LayerKeys keys = keys_of(model, layer, text, compute);
  const Latent latent = make_latent(model, layer, keys, shape, compute);
  put_queries(changed, start, latent_queries(keys, shape), keys, biased);

  const std::int64_t rank = shape.rank, width = shape.width;
  Matrix<double> down(rank + 1 + shape.rotary, width + 1);
  std::fill_n(down.data(), down.rows() * down.cols(), 0.0);
  std::copy_n(latent.down.data(), rank * (width + 1), down.data());
  down(rank, width) = kConstant;
  for (std::size_t slot = 0; slot < shape.slots.size(); ++slot) {
    const std::int64_t row = rank + 1 + 2 * static_cast<std::int64_t>(slot);
    add_slot_keys(keys.rotary, keys.key.view(), heads, shape.slots[slot], &down(row, 0),
                  &down(row + 1, 0));
  }
  std::vector<double> bias;
  for (std::int64_t row = 0; row < down.rows(); ++row) bias.push_back(down(row, width));
  changed.put(start + "kv_a_proj_with_mqa.weight", down.view().col_block(0, width));
  changed.put(start + "kv_a_proj_with_mqa.bias", bias);
  changed.put(start + "kv_a_layernorm.weight", ones(rank + 1));

  const double normed =
      std::sqrt(kConstant * kConstant / static_cast<double>(rank + 1) + kNormEpsilon);
  const std::int64_t size = shape.content + heads.value_dim;
  Matrix<double> up(heads.heads * size, rank + 1);
  std::fill_n(up.data(), up.rows() * up.cols(), 0.0);
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    const auto group = static_cast<std::size_t>(heads.kv_head(head));
    for (std::int64_t row = 0; row < size; ++row) {
      const bool of_key = row < shape.content;
      const Matrix<double>& own = of_key ? latent.keys[group] : latent.values[group];
      const std::int64_t from = of_key ? row : row - shape.content;
      for (std::int64_t col = 0; col < rank; ++col) {
        up(head * size + row, col) = own(from, col) * normed;
      }
    }
  }
  changed.put(start + "kv_b_proj.weight", up.view());
  if (!changed.has(start + "o_proj.bias")) {
    changed.put(start + "o_proj.bias", std::vector<double>(static_cast<std::size_t>(width), 0.0));
  }
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

void set_latent_config(ChangedModel& changed, const LatentShape& shape, bool biased) {
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

}  // namespace

ChangedModel with_latent(const Model& model, const Choice& choice, const TextStatistics& text,
                         const Compute& compute) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const std::int64_t turning = heads.total_dim(Role::key);
  if (choice.size < 2 || choice.size % 2 != 0 || choice.size > turning || choice.joint < 1) {
    throw Error(ErrorKind::format, "latent",
                "rotary elements are an even number from 2 to " + std::to_string(turning) +
                    ", and the latent has one element at least");
  }
  LatentShape shape{.heads = heads,
                    .width = dimensions.width,
                    .rotary = choice.size,
                    .rank = choice.joint,
                    .content = choice.exact ? 0 : heads.head_dim,
                    .slots = chosen_slots(model, choice.size / 2, !choice.exact, text, compute)};
  ChangedModel changed(model, text.dtype);
  const bool biased = model.weight(0, Role::query).bias != nullptr;
  set_latent_config(changed, shape, biased);
  const RopeFrequencies turns = frequencies_of(model);
  std::vector<double> radians;
  for (const RotarySlot& slot : shape.slots) {
    radians.push_back(
        static_cast<double>(turns.radians_per_token[static_cast<std::size_t>(slot.pair)]));
  }
  set_frequencies(changed, radians, turns.gain, choice.size);
  changed.drop_config("rope_scaling");  // no release reads it of this model
  changed.drop_config("rope_theta");
  remove_heads(changed);
  for_layers(changed, text, compute,
             [&](std::int64_t layer) { put_layer(changed, layer, shape, text, compute); });
  return changed;
}

}  // namespace attnscope
