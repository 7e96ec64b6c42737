// Head-dim pruning: keeps the same rotary pairs of all queries and keys, and the principal
// directions of values.
#include <algorithm>
#include <array>
#include <cmath>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/family_support.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/narrow_values.h"
#include "attnscope/features/plan/methods/rotary_dimensions.h"

namespace attnscope {

Method head_dim_method();

namespace {

/// Source: transformers, models/*/configuration_*.py and modeling_*.py; tests load each.
constexpr std::array<std::string_view, 3> kNarrowerHeads = {"llama", "mistral", "qwen2"};

std::string why_not_head_dim(const Model& model) {
  if (!is_dense_of(model, kNarrowerHeads)) {
    return "transformers cannot load " + model.spec().architecture.name +
           " with a smaller head dimension";
  }
  return why_no_rotary(model.spec());
}

/// Rotary pairs with the largest Σ E|k|² E|q|² over layers and heads, the same for all heads.
std::vector<std::int64_t> kept_pairs(const Model& model, std::int64_t size,
                                     const TextStatistics& text, const Compute& compute) {
  const HeadShape& heads = model.dimensions().heads;
  const std::int64_t pairs = heads.head_dim / 2;
  std::vector<double> energy(static_cast<std::size_t>(pairs), 0.0);
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    const Matrix<double> moments = text.moments(layer, Role::query).mean_second_with_one();
    const auto energies = [&](Role role) {
      const Matrix<double> matrix = with_bias_column(model, layer, role);
      const Matrix<double> read = product(matrix.view(), moments.view(), compute);
      std::vector<double> out(static_cast<std::size_t>(matrix.rows()), 0.0);
      for (std::int64_t row = 0; row < matrix.rows(); ++row) {
        for (std::int64_t col = 0; col < matrix.cols(); ++col) {
          out[static_cast<std::size_t>(row)] += read(row, col) * matrix(row, col);
        }
      }
      return out;
    };
    const std::vector<double> query = energies(Role::query), key = energies(Role::key);
    const auto of_pair = [&](const std::vector<double>& of_rows, std::int64_t head,
                             std::int64_t pair) {
      const std::int64_t first = head * heads.head_dim + pair;
      return of_rows[static_cast<std::size_t>(first)] +
             of_rows[static_cast<std::size_t>(first + pairs)];
    };
    for (std::int64_t head = 0; head < heads.heads; ++head) {
      for (std::int64_t pair = 0; pair < pairs; ++pair) {
        energy[static_cast<std::size_t>(pair)] +=
            of_pair(query, head, pair) * of_pair(key, heads.kv_head(head), pair);
      }
    }
  }
  return largest(energy, size / 2);
}

Choice choose_pairs(const Model& model, std::int64_t size, const TextStatistics& text,
                    const Compute& compute) {
  return {
      .method = head_dim_method(), .size = size, .kept = {kept_pairs(model, size, text, compute)}};
}

ChangedModel make_narrower_heads(const Model& model, const Choice& choice,
                                 const TextStatistics& text, const Compute& compute) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const std::int64_t pairs = heads.head_dim / 2;
  check_lists(choice, 1, choice.size / 2, pairs);
  std::vector<std::int64_t> elements = choice.kept.front();
  for (const std::int64_t pair : choice.kept.front()) elements.push_back(pair + pairs);
  ChangedModel changed(model, text.dtype);
  const ConfigKeys& keys = model.spec().architecture.keys;
  changed.set_config(changed.key_of(keys.head_dim), choice.size);
  changed.set_config(changed.key_of(keys.kv_heads), heads.kv_heads);
  const RopeFrequencies frequencies = frequencies_of(model);
  std::vector<double> radians;
  for (const std::int64_t pair : choice.kept.front()) {
    radians.push_back(
        static_cast<double>(frequencies.radians_per_token[static_cast<std::size_t>(pair)]));
  }
  set_frequencies(changed, radians, frequencies.gain, choice.size);
  const auto rows_of_heads = [&](std::int64_t count) {
    std::vector<std::int64_t> rows;
    for (std::int64_t head = 0; head < count; ++head) {
      for (const std::int64_t element : elements) rows.push_back(head * heads.head_dim + element);
    }
    return rows;
  };
  // Scores are divided by the square root of the head dimension.
  const double scale =
      std::sqrt(static_cast<double>(choice.size) / static_cast<double>(heads.head_dim));
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    LayerMatrices own;
    keep_weight_rows(own, model, layer, Role::query, rows_of_heads(heads.heads));
    keep_weight_rows(own, model, layer, Role::key, rows_of_heads(heads.kv_heads));
    Matrix<double>& query = own.weights.at(Role::query);
    for (std::int64_t at = 0; at < query.rows() * query.cols(); ++at) query.data()[at] *= scale;
    const auto bias = own.biases.find(Role::query);
    if (bias != own.biases.end()) {
      for (double& value : bias->second) value *= scale;
    }
    narrow_values(own, model, layer, /*merged=*/1, choice.size, text, compute);
    changed.set_layer(layer, own);
  });
  return changed;
}

/// Elements for one dimension of every head.
std::int64_t head_dim_elements(const Model& model, std::int64_t layer, Counted counted) {
  const HeadShape& heads = model.dimensions().heads;
  return heads.heads * (row_elements(model, layer, Role::query, counted) +
                        column_elements(model, layer, Role::output)) +
         heads.kv_heads * (row_elements(model, layer, Role::key, counted) +
                           row_elements(model, layer, Role::value, counted));
}

ModelSize size_of_narrower_heads(const Model& model, const ModelSize& before,
                                 const Choice& choice) {
  const HeadShape& heads = model.dimensions().heads;
  const std::int64_t removed = heads.head_dim - choice.size;
  ModelSize out = without_units(model, before, removed, head_dim_elements);
  out.flops_per_token -= static_cast<double>(model.dimensions().layers) *
                         flops_of_attention(model, heads.heads, 2 * removed);
  cut_cache(out, choice.size, heads.head_dim);
  return out;
}

}  // namespace

Method head_dim_method() {
  static const MethodInfo info = {
      .name = "head-dim",
      .set_example = "head-dim=16",
      .is_rounded = true,
      .list_unit = 2,  // rotary pairs
      .whole = [](const Dimensions& dimensions) { return dimensions.heads.head_dim; },
      .cut = [](Dimensions& dimensions, std::int64_t size) { dimensions.heads.head_dim = size; },
      .why_not = why_not_head_dim,
      .sizes =
          [](const Model& model) {
            return descending_sizes(model.dimensions().heads.head_dim, /*step=*/2);
          },
      .choose = choose_pairs,
      .make = make_narrower_heads,
      .size_after = size_of_narrower_heads,
      .changed_elements = attention_elements,
      .fitting_bytes = attention_fitting_bytes,
  };
  return &info;
}

}  // namespace attnscope
