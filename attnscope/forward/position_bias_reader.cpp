// Reads the tensors of position biases.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/position_bias.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {

std::string ScoreBiasReader::name_of(const std::string& pattern, std::int64_t layer) const {
  return model_.prefix() + fill_pattern(pattern, layer_numbers(spec_.dimensions, layer));
}

std::vector<float> ScoreBiasReader::first_rows(const RowTable& table, std::int64_t count,
                                               std::int64_t layer) const {
  check_dtype(*table.tensor);
  if (table.rows < count) {
    refuse("'" + table.tensor->name + "' has " + std::to_string(table.rows) +
               " rows, fewer than the " + std::to_string(count) + " that " + spec_.source +
               " specifies",
           layer);
  }
  TensorMatrix matrix = whole_matrix(table.tensor->view);
  matrix.rows = count;
  std::vector<float> rows = values(matrix);
  table.check_intact();
  return rows;
}

void ScoreBiasReader::read(std::int64_t layer, LayerWeights& out) {
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(layer)].attention;
  const std::int64_t heads = spec_.dimensions_of(layer).heads.heads;
  if (!spec.sinks.empty()) {
    out.sinks = values(need(model_.find(name_of(spec.sinks, layer), Shape{heads}), layer));
  }
  if (spec.buckets) {
    out.bucket_table = read_buckets(spec, layer);
    if (spec.buckets->gate) out.bucket_gate = read_gate(*spec.buckets->gate, layer);
  }
  if (spec.grid) out.grid_table = read_grid(*spec.grid, layer);
  if (spec.grid_mlp) out.grid_table = read_grid_mlp(*spec.grid_mlp, layer);
  if (spec.axes) {
    const PatchGrid grid = attended_grid(layer);
    out.row_offsets = read_offsets(spec.axes->rows, grid.rows, layer);
    out.column_offsets = read_offsets(spec.axes->columns, grid.cols, layer);
  }
  if (!spec.cosine_scales.empty()) {
    out.cosine_scales =
        values(need(model_.find(name_of(spec.cosine_scales, layer), Shape{heads, 1, 1}), layer));
    constexpr float kLargest = 100;
    for (float& scale : out.cosine_scales) scale = std::exp(std::min(scale, std::log(kLargest)));
  }
  if (spec.distances) out.distance_table = read_distances(*spec.distances, layer);
  if (spec.disentangled) read_disentangled(*spec.disentangled, layer, out);
  if (spec.relative) read_relative(*spec.relative, layer, out);
}

/// Reads the table of BucketBias, (buckets, H), scaled if the scores scale it.
std::vector<float> ScoreBiasReader::read_buckets(const AttentionSpec& spec,
                                                 std::int64_t layer) const {
  const BucketBias& buckets = *spec.buckets;
  const std::int64_t heads = spec_.dimensions.heads.heads;
  const std::string name = name_of(buckets.table, layer);
  std::vector<float> out;
  if (buckets.by_head) {
    const std::vector<float> rows =
        values(need(model_.find(name, Shape{heads, buckets.count}), layer));
    for (std::int64_t bucket = 0; bucket < buckets.count; ++bucket) {
      for (std::int64_t head = 0; head < heads; ++head) {
        out.push_back(rows[static_cast<std::size_t>(head * buckets.count + bucket)]);
      }
    }
  } else {
    out = first_rows(table(name, heads), buckets.count, layer);
  }
  const auto scale = static_cast<float>(spec.scale);
  for (float& value : out) value *= buckets.scaled ? scale : 1.0F;
  return out;
}

BucketGateWeights ScoreBiasReader::read_gate(const BucketGate& gate, std::int64_t layer) const {
  constexpr std::int64_t kOutputs = 2, kSummed = 4;
  const HeadShape& heads = spec_.dimensions.heads;
  const std::string name = name_of(gate.linear, layer);
  const auto read = [&](const std::string& tensor, const Shape& shape) {
    return values(need(model_.find(tensor, shape), layer));
  };
  const std::vector<float> rows = read(name, {kOutputs * kSummed, heads.head_dim});
  const std::vector<float> bias = read(bias_names(name).front(), {kOutputs * kSummed});
  BucketGateWeights out{.rows = Matrix<float>(kOutputs, heads.head_dim),
                        .bias = {},
                        .factors = read(name_of(gate.factors, layer), {1, heads.heads, 1, 1})};
  const auto sum_of = [&](const std::vector<float>& all, std::int64_t output, std::int64_t cols,
                          std::int64_t col) {
    double sum = 0;
    for (std::int64_t row = output * kSummed; row < (output + 1) * kSummed; ++row) {
      sum += static_cast<double>(all[static_cast<std::size_t>(row * cols + col)]);
    }
    return static_cast<float>(sum);
  };
  for (std::int64_t output = 0; output < kOutputs; ++output) {
    out.bias.push_back(sum_of(bias, output, 1, 0));
    for (std::int64_t col = 0; col < heads.head_dim; ++col) {
      out.rows(output, col) = sum_of(rows, output, heads.head_dim, col);
    }
  }
  return out;
}

Matrix<float> ScoreBiasReader::read_distances(const DistanceBias& distances,
                                              std::int64_t layer) const {
  const std::int64_t rows = distances.before + 1 + distances.after;
  const std::int64_t size = spec_.dimensions.heads.head_dim;
  const Shape shape{rows, size};
  return rows_of_width(need(model_.find(name_of(distances.table, layer), shape), layer), size);
}

void ScoreBiasReader::read_relative(const RelativeWaveSpec& spec, std::int64_t layer,
                                    LayerWeights& out) const {
  const std::int64_t width = spec_.dimensions.width;
  const HeadShape& heads = spec_.dimensions.heads;
  const std::int64_t outputs = heads.total_dim(Role::query);
  const std::string name = name_of(spec.projection, layer);
  const Shape shape{width, heads.heads, heads.head_dim};
  TensorMatrix matrix{.tensor = need(model_.find(name, shape), layer).view,
                      .rows = outputs,
                      .cols = width,
                      .row_stride = 1,
                      .col_stride = outputs,
                      .block_rows = outputs};
  if (matrix.tensor.stride(0) != outputs || matrix.tensor.stride(1) != heads.head_dim) {
    refuse("'" + name + "' is not stored in row-major order", layer);
  }
  out.relative_key = make_linear({std::move(matrix)}, {}, /*copied=*/false);
  const auto bias = [&](const std::string& pattern) {
    return values(
        need(model_.find(name_of(pattern, layer), Shape{heads.heads, heads.head_dim}), layer));
  };
  const std::vector<float> of_content = bias(spec.content_bias);
  out.relative_bias = bias(spec.position_bias);
  for (std::size_t at = 0; at < of_content.size(); ++at) out.relative_bias[at] -= of_content[at];
}

PatchGrid ScoreBiasReader::attended_grid(std::int64_t layer) const {
  const auto& windows = spec_.layers[static_cast<std::size_t>(layer)].attention.windows;
  if (windows) return {.rows = windows->size, .cols = windows->size};
  const PatchSpec& patches = *spec_.stream.patches;
  return {.rows = patches.image_rows / patches.size, .cols = patches.image_cols / patches.size};
}

std::vector<float> ScoreBiasReader::read_grid(const GridBias& grid, std::int64_t layer) const {
  const PatchGrid attended = attended_grid(layer);
  const std::int64_t offsets = (2 * attended.rows - 1) * (2 * attended.cols - 1);
  const Shape shape{offsets + (grid.class_token ? 3 : 0), spec_.dimensions_of(layer).heads.heads};
  return values(need(model_.find(name_of(grid.table, layer), shape), layer));
}

/// Computes the table of GridMlpRule in float64.
std::vector<float> ScoreBiasReader::read_grid_mlp(const GridMlp& mlp, std::int64_t layer) const {
  const std::int64_t heads = spec_.dimensions_of(layer).heads.heads;
  const std::string name = name_of(mlp.mlp, layer);
  const Site first = model_.find(name + ".0.weight");
  const std::int64_t hidden = need(first, layer).view.shape.front();
  const std::vector<float> in =
      values(need(model_.find(name + ".0.weight", Shape{hidden, 2}), layer));
  const std::vector<float> bias = values(need(model_.find(name + ".0.bias", Shape{hidden}), layer));
  const std::vector<float> out =
      values(need(model_.find(name + ".2.weight", Shape{heads, hidden}), layer));
  const PatchGrid grid = attended_grid(layer);
  const auto coordinate = [&](std::int64_t offset) {
    constexpr double kAtFarthest = 8, kLogarithm = 3;
    const double share =
        kAtFarthest * static_cast<double>(std::abs(offset)) / static_cast<double>(mlp.farthest);
    return std::copysign(std::log2(1 + share) / kLogarithm, static_cast<double>(offset));
  };
  std::vector<float> table;
  for (std::int64_t down = 1 - grid.rows; down < grid.rows; ++down) {
    for (std::int64_t right = 1 - grid.cols; right < grid.cols; ++right) {
      std::vector<double> sums(static_cast<std::size_t>(heads), 0.0);
      for (std::size_t unit = 0; unit < bias.size(); ++unit) {
        const double value = static_cast<double>(in[2 * unit]) * coordinate(down) +
                             static_cast<double>(in[2 * unit + 1]) * coordinate(right) +
                             static_cast<double>(bias[unit]);
        for (std::size_t head = 0; value > 0 && head < sums.size(); ++head) {
          sums[head] += value * static_cast<double>(out[head * bias.size() + unit]);
        }
      }
      constexpr double kLargest = 16;
      for (const double sum : sums) {
        table.push_back(static_cast<float>(kLargest / (1 + std::exp(-sum))));
      }
    }
  }
  return table;
}

std::shared_ptr<const Matrix<float>> ScoreBiasReader::read_offsets(const std::string& pattern,
                                                                   std::int64_t patches,
                                                                   std::int64_t layer) const {
  const std::int64_t size = spec_.dimensions_of(layer).heads.head_dim;
  const Site site = model_.find(name_of(pattern, layer), Shape{2 * patches - 1, size});
  return std::make_shared<const Matrix<float>>(rows_of_width(need(site, layer), size));
}

void ScoreBiasReader::read_disentangled(const DisentangledSpec& spec, std::int64_t layer,
                                        LayerWeights& out) {
  const std::int64_t width = spec_.dimensions.width;
  const std::int64_t outputs = spec_.dimensions.heads.total_dim(Role::query);
  if (distances_ == nullptr) {
    const std::vector<float> rows =
        first_rows(table(model_.prefix() + spec.table, width), 2 * spec.span, layer);
    Matrix<float> embeddings(2 * spec.span, width);
    std::copy(rows.begin(), rows.end(), embeddings.data());
    if (const OptionalNorm normed = norm(spec.norm, layer, width)) {
      apply_norm(*normed, embeddings.view(), embeddings.view(), compute_);
    }
    distances_ = std::make_shared<const Matrix<float>>(std::move(embeddings));
  }
  out.distances = distances_;
  if (spec.shared) return;
  if (spec.position_to_content) {
    out.distance_query = linear(name_of(spec.query, layer), outputs, width);
  }
  if (spec.content_to_position) out.distance_key = linear(name_of(spec.key, layer), outputs, width);
}

}  // namespace attnscope
