// KV-head merging: merges key/value heads by principal components across heads.
#include <algorithm>
#include <array>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/features/plan/methods/family_support.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/narrow_values.h"
#include "attnscope/features/plan/methods/rotary_dimensions.h"

namespace attnscope {
namespace {

/// Source: transformers, models/*/configuration_*.py and modeling_*.py; tests load each.
constexpr std::array<std::string_view, 5> kFewerKvHeads = {"llama", "mistral", "qwen2", "phi3",
                                                           "gemma"};

std::string why_not_kv_heads(const Model& model) {
  const ModelSpec& spec = model.spec();
  if (!is_dense_of(model, kFewerKvHeads)) {
    return "transformers cannot load " + spec.architecture.name + " with fewer key/value heads";
  }
  if (spec.dimensions.heads.kv_heads < 2) return "the model has only one key/value head";
  return why_no_rotary(spec);
}

std::vector<std::int64_t> kv_head_counts(const Model& model) {
  const std::int64_t whole = model.dimensions().heads.kv_heads;
  std::vector<std::int64_t> sizes = descending_sizes(whole);
  std::erase_if(sizes, [&](std::int64_t size) { return whole % size != 0; });
  return sizes;
}

ChangedModel merge_kv_heads(const Model& model, const Choice& choice, const TextStatistics& text,
                            const Compute& compute) {
  const std::int64_t kv_heads = choice.size;
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  if (kv_heads < 1 || heads.kv_heads % kv_heads != 0) {
    throw Error(ErrorKind::format, "size",
                "expected a divisor of " + std::to_string(heads.kv_heads));
  }
  const std::int64_t merged = heads.kv_heads / kv_heads, size = heads.head_dim;
  ChangedModel changed(model, text.dtype);
  const ConfigKeys& keys = model.spec().architecture.keys;
  changed.set_config(changed.key_of(keys.kv_heads), kv_heads);
  changed.set_config(changed.key_of(keys.head_dim), size);
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    const Matrix<double> query = with_bias_column(model, layer, Role::query);
    const Matrix<double> key = with_bias_column(model, layer, Role::key);
    const Matrix<double> moments = text.moments(layer, Role::key).mean_second_with_one();
    Matrix<double> new_query = zero_matrix(query.rows(), query.cols());
    Matrix<double> new_key = zero_matrix(kv_heads * size, key.cols());
    for (std::int64_t group = 0; group < kv_heads; ++group) {
      const RotaryKeys own = rotary_keys(query.view(), key.view(), moments.view(), heads,
                                         group * merged, merged, compute);
      for (std::int64_t pair = 0; pair < own.pairs; ++pair) {
        const RotarySlot slot{pair, 0};
        add_slot_keys(own, key.view(), heads, slot, &new_key(group * size + pair, 0),
                      &new_key(group * size + pair + own.pairs, 0));
        for (std::int64_t head = 0; head < heads.heads; ++head) {
          if (heads.kv_head(head) / merged != group) continue;
          add_slot_queries(own, query.view(), heads, head, slot, &new_query(head * size + pair, 0),
                           &new_query(head * size + pair + own.pairs, 0));
        }
      }
    }
    LayerMatrices matrices;
    set_with_bias(matrices, model, layer, Role::query, new_query);
    set_with_bias(matrices, model, layer, Role::key, new_key);
    narrow_values(matrices, model, layer, merged, heads.value_dim, text, compute);
    changed.set_layer(layer, matrices);
  });
  return changed;
}

std::int64_t kv_head_elements(const Model& model, std::int64_t layer, Counted counted) {
  const HeadShape& heads = model.dimensions().heads;
  return heads.head_dim * row_elements(model, layer, Role::key, counted) +
         heads.value_dim * row_elements(model, layer, Role::value, counted);
}

ModelSize size_of_fewer_kv_heads(const Model& model, const ModelSize& before,
                                 const Choice& choice) {
  const std::int64_t whole = model.dimensions().heads.kv_heads;
  ModelSize out = without_units(model, before, whole - choice.size, kv_head_elements);
  cut_cache(out, choice.size, whole);
  return out;
}

}  // namespace

Method kv_heads_method() {
  static const MethodInfo info = {
      .name = "kv-heads",
      .set_example = "kv-heads=1",
      .whole = [](const Dimensions& dimensions) { return dimensions.heads.kv_heads; },
      .cut = [](Dimensions& dimensions, std::int64_t size) { dimensions.heads.kv_heads = size; },
      .why_not = why_not_kv_heads,
      .sizes = kv_head_counts,
      .make = merge_kv_heads,
      .size_after = size_of_fewer_kv_heads,
      .changed_elements = attention_elements,
      .fitting_bytes = attention_fitting_bytes,
  };
  return &info;
}

}  // namespace attnscope
