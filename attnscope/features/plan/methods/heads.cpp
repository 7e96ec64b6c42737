// Head pruning: removes heads and refits W_O to the kept ones.
#include <algorithm>
#include <array>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/family_support.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"

namespace attnscope {

Method heads_method();

namespace {

/// Source: transformers, models/*/configuration_*.py and modeling_*.py; tests load each.
constexpr std::array<std::string_view, 9> kFewerHeads = {
    "llama", "mistral", "qwen2", "qwen3", "phi3", "gemma", "gemma2", "gemma3", "phi"};
/// Their config rejects a number of heads that does not divide the hidden size.
constexpr std::array<std::string_view, 3> kHeadsDivideWidth = {"llama", "gemma2", "gemma3"};

std::vector<std::int64_t> head_counts(const Model& model) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const bool divides = std::ranges::find(kHeadsDivideWidth, model.spec().architecture.name) !=
                       kHeadsDivideWidth.end();
  std::vector<std::int64_t> sizes = descending_sizes(heads.heads);
  std::erase_if(sizes, [&](std::int64_t size) {
    // With GQA, each group loses the same number of heads. With MHA, heads are removed with their
    // keys and values.
    return (heads.group_size() > 1 && size % heads.kv_heads != 0) ||
           (divides && dimensions.width % size != 0);
  });
  return sizes;
}

/// The element indices of these heads, `size` elements each.
std::vector<std::int64_t> elements_of(const std::vector<std::int64_t>& heads, std::int64_t size) {
  std::vector<std::int64_t> out;
  for (const std::int64_t head : heads) {
    for (std::int64_t at = 0; at < size; ++at) out.push_back(head * size + at);
  }
  return out;
}

/// E‖W_O,h z_h‖² per head.
std::vector<double> contributions(const Model& model, std::int64_t layer,
                                  const TextStatistics& text, const Compute& compute) {
  const HeadShape& heads = model.dimensions().heads;
  const Matrix<double> output = canonical_matrix(model, layer, Role::output);
  const Matrix<double> moments = text.moments(layer, Role::output).mean_second();
  std::vector<double> out;
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    const std::int64_t first = head * heads.value_dim;
    out.push_back(output_energy(
        output.view().col_block(first, heads.value_dim),
        moments.view().block(first, heads.value_dim, first, heads.value_dim), compute));
  }
  return out;
}

/// With GQA, keeps the same number of heads in every group. With MHA, any heads.
std::vector<std::int64_t> kept_heads(const std::vector<double>& contribution,
                                     const HeadShape& heads, std::int64_t size) {
  const std::int64_t groups = heads.group_size() > 1 ? heads.kv_heads : 1;
  const std::int64_t of_group = heads.heads / groups;
  std::vector<std::int64_t> kept;
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto begin = contribution.begin() + group * of_group;
    for (const std::int64_t at : largest({begin, begin + of_group}, size / groups)) {
      kept.push_back(group * of_group + at);
    }
  }
  return kept;
}

Choice choose_heads(const Model& model, std::int64_t size, const TextStatistics& text,
                    const Compute& compute) {
  Choice choice{.method = heads_method(), .size = size};
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    compute.check_stop();
    choice.kept.push_back(
        kept_heads(contributions(model, layer, text, compute), model.dimensions().heads, size));
  }
  return choice;
}

ChangedModel make_fewer_heads(const Model& model, const Choice& choice, const TextStatistics& text,
                              const Compute& compute) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  check_lists(choice, dimensions.layers, choice.size, heads.heads);
  ChangedModel changed(model, text.dtype);
  const ConfigKeys& keys = model.spec().architecture.keys;
  const bool alone = heads.group_size() == 1;  // MHA: every head has its own keys and values
  changed.set_config(changed.key_of(keys.heads), choice.size);
  changed.set_config(changed.key_of(keys.head_dim), heads.head_dim);
  changed.set_config(changed.key_of(keys.kv_heads), alone ? choice.size : heads.kv_heads);
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    const std::vector<std::int64_t>& kept = choice.kept[static_cast<std::size_t>(layer)];
    LayerMatrices own;
    keep_weight_rows(own, model, layer, Role::query, elements_of(kept, heads.head_dim));
    if (alone) {
      keep_weight_rows(own, model, layer, Role::key, elements_of(kept, heads.head_dim));
      keep_weight_rows(own, model, layer, Role::value, elements_of(kept, heads.value_dim));
    }
    own.weights.emplace(Role::output, refitted(canonical_matrix(model, layer, Role::output).view(),
                                               text.moments(layer, Role::output).mean(),
                                               elements_of(kept, heads.value_dim), compute));
    changed.set_layer(layer, own);
  });
  return changed;
}

std::int64_t head_elements(const Model& model, std::int64_t layer, Counted counted) {
  const HeadShape& heads = model.dimensions().heads;
  std::int64_t sum = heads.head_dim * row_elements(model, layer, Role::query, counted) +
                     heads.value_dim * column_elements(model, layer, Role::output);
  if (heads.group_size() == 1) {
    sum += heads.head_dim * row_elements(model, layer, Role::key, counted) +
           heads.value_dim * row_elements(model, layer, Role::value, counted);
  }
  return sum;
}

ModelSize size_of_fewer_heads(const Model& model, const ModelSize& before, const Choice& choice) {
  const HeadShape& heads = model.dimensions().heads;
  const std::int64_t removed = heads.heads - choice.size;
  ModelSize out = without_units(model, before, removed, head_elements);
  out.flops_per_token -= static_cast<double>(model.dimensions().layers) *
                         flops_of_attention(model, removed, heads.head_dim + heads.value_dim);
  if (heads.group_size() == 1) cut_cache(out, choice.size, heads.heads);
  return out;
}

}  // namespace

Method heads_method() {
  static const MethodInfo info = {
      .name = "heads",
      .set_example = "heads=4",
      .rows = PlanRows::layer,
      .list_unit = 1,
      .whole = [](const Dimensions& dimensions) { return dimensions.heads.heads; },
      .cut =
          [](Dimensions& dimensions, std::int64_t size) {
            HeadShape& heads = dimensions.heads;
            if (heads.group_size() == 1) heads.kv_heads = size;
            heads.heads = size;
          },
      .why_not =
          [](const Model& model) {
            return is_dense_of(model, kFewerHeads)
                       ? std::string()
                       : "transformers cannot load " + model.spec().architecture.name +
                             " with fewer heads";
          },
      .sizes = head_counts,
      .choose = choose_heads,
      .make = make_fewer_heads,
      .size_after = size_of_fewer_heads,
      .changed_elements = attention_elements,
      .fitting_bytes = attention_fitting_bytes,
  };
  return &info;
}

}  // namespace attnscope
