#include "attnscope/forward/position_bias.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/tensor/low_precision.h"

namespace attnscope {
namespace {

/// Returns the correctly rounded float32 logarithm; the C library's float version may not be.
float natural_logarithm(float value) {
  return static_cast<float>(std::log(static_cast<double>(value)));
}

/// Returns the number of distances between any two of `tokens` positions.
std::int64_t distances(std::int64_t tokens) { return 2 * tokens - 1; }

}  // namespace

std::vector<float> alibi_slopes(const Alibi& alibi, std::int64_t heads) {
  const auto above = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(heads)));
  const auto below = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(heads)));
  // Slope of head `number`, counted from 1, among `of` heads, a power of two.
  const auto slope = [](std::int64_t number, std::int64_t of) {
    return static_cast<float>(
        std::exp2(-8.0 * static_cast<double>(number) / static_cast<double>(of)));
  };
  std::vector<float> slopes;
  if (!alibi.of_larger_power) {
    for (std::int64_t at = 1; at <= below; ++at) slopes.push_back(slope(at, below));
    for (std::int64_t at = 1; std::ssize(slopes) < heads; at += 2) {
      slopes.push_back(slope(at, 2 * below));
    }
    return slopes;
  }
  if (above == heads) {
    for (std::int64_t at = 1; at <= above; ++at) slopes.push_back(slope(at, above));
    return slopes;
  }
  for (const std::int64_t first : {2, 1}) {
    for (std::int64_t at = first; at <= above; at += 2) slopes.push_back(slope(at, above));
  }
  slopes.resize(static_cast<std::size_t>(heads));
  return slopes;
}

float alibi_bias(const Alibi& alibi, float slope, std::int64_t place) {
  const auto factor = static_cast<float>(place);
  if (!alibi.in_bfloat16) return slope * factor;
  return rounded_to_bfloat16(rounded_to_bfloat16(slope) * rounded_to_bfloat16(factor));
}

std::int64_t bucket_of(const BucketBias& buckets, std::int64_t distance, bool causal) {
  const std::int64_t count = causal ? buckets.count : buckets.count / 2;
  const std::int64_t first = !causal && distance > 0 ? count : 0;
  const std::int64_t away = causal ? std::max<std::int64_t>(-distance, 0) : std::abs(distance);
  const std::int64_t exact = count / 2;
  if (away < exact) return first + away;
  const float far = natural_logarithm(static_cast<float>(away) / static_cast<float>(exact)) /
                    static_cast<float>(std::log(static_cast<double>(buckets.distant) /
                                                static_cast<double>(exact))) *
                    static_cast<float>(count - exact);
  // WavLM, whose biases are gated, adds before it truncates.
  const std::int64_t row = buckets.gate ? static_cast<std::int64_t>(static_cast<float>(exact) + far)
                                        : exact + static_cast<std::int64_t>(far);
  return first + std::min(row, count - 1);
}

std::int64_t disentangled_row(const DisentangledSpec& spec, std::int64_t distance) {
  const std::int64_t before = -distance, away = std::abs(distance), half = spec.buckets / 2;
  std::int64_t relative = before;
  if (spec.buckets > 0 && away > half) {
    const auto middle = static_cast<float>(half);
    const float steps =
        std::ceil(natural_logarithm(static_cast<float>(away) / middle) /
                  natural_logarithm(static_cast<float>(static_cast<double>(spec.distant - 1) /
                                                       static_cast<double>(half))) *
                  static_cast<float>(half - 1));
    const std::int64_t bucket = static_cast<std::int64_t>(steps) + half;
    relative = before < 0 ? -bucket : bucket;
  }
  return std::clamp<std::int64_t>(relative + spec.span, 0, 2 * spec.span - 1);
}

ScoreBiases::ScoreBiases(const ModelSpec& spec, const ForwardWeights& weights,
                         const SequenceRows& rows, const Compute& compute)
    : spec_(spec), weights_(weights), rows_(rows), compute_(compute) {
  for (std::size_t at = 0; at < rows.length.size(); ++at) {
    tokens_ = std::max(tokens_, rows.tokens(at));
  }
}

void ScoreBiases::enter(std::int64_t layer, MatrixView<const float> input) {
  const auto at = static_cast<std::size_t>(layer);
  layer_ = &spec_.layers[at].attention;
  if (layer_->alibi) make_alibi(*layer_->alibi);
  if (layer_->buckets) {
    make_buckets(*layer_->buckets, weights_.layers[at].bucket_table, layer_->mask.causal);
    if (const auto& gate = weights_.layers[at].bucket_gate) make_gates(*gate, input);
  }
  if (layer_->disentangled) make_disentangled(*layer_->disentangled, weights_.layers[at]);
  if (layer_->relative) make_relative(*layer_->relative, weights_.layers[at]);
  heads_ = spec_.dimensions_of(layer).heads.heads;
  grid_table_ = weights_.layers[at].grid_table;
  distance_table_ = weights_.layers[at].distance_table.view();
  row_offsets_ = weights_.layers[at].row_offsets.get();
  column_offsets_ = weights_.layers[at].column_offsets.get();
  if ((layer_->grid || layer_->axes) && !rows_.grid && rows_.windows == nullptr) {
    throw std::logic_error("biases between patches need a grid");
  }
}

void ScoreBiases::make_alibi(const Alibi& alibi) {
  if (known_alibi_ == alibi) return;
  known_alibi_ = alibi;
  const std::vector<float> slopes = alibi_slopes(alibi, spec_.dimensions.heads.heads);
  const auto scale = static_cast<float>(layer_->scale);
  table_ = Matrix<float>(std::ssize(slopes), alibi.in_bfloat16 ? tokens_ : distances(tokens_));
  for (std::int64_t head = 0; head < table_.rows(); ++head) {
    const float slope = slopes[static_cast<std::size_t>(head)];
    for (std::int64_t at = 0; at < table_.cols(); ++at) {
      table_(head, at) = alibi.in_bfloat16 ? scale * alibi_bias(alibi, slope, at)
                                           : alibi_bias(alibi, slope, at - (tokens_ - 1));
    }
  }
}

void ScoreBiases::make_buckets(const BucketBias& buckets, const std::vector<float>& table,
                               bool causal) {
  if (known_buckets_ == buckets && known_bucket_table_ == table) return;
  known_buckets_ = buckets;
  known_bucket_table_ = table;
  const std::int64_t heads = spec_.dimensions.heads.heads;
  table_ = Matrix<float>(heads, distances(tokens_));
  for (std::int64_t at = 0; at < table_.cols(); ++at) {
    const std::int64_t bucket = bucket_of(buckets, at - (tokens_ - 1), causal);
    for (std::int64_t head = 0; head < heads; ++head) {
      table_(head, at) = table[static_cast<std::size_t>(bucket * heads + head)];
    }
  }
}

void ScoreBiases::make_gates(const BucketGateWeights& gate, MatrixView<const float> input) {
  const auto heads = std::ssize(gate.factors), size = gate.rows.cols();
  if (gates_.rows() != input.rows) gates_ = Matrix<float>(input.rows, heads);
  Matrix<float> sums;
  for (std::int64_t head = 0; head < heads; ++head) {
    multiply_rows(input.col_block(head * size, size), gate.rows.view(), sums, compute_);
    for (std::int64_t row = 0; row < input.rows; ++row) {
      const auto sigmoid = [&](std::int64_t col) {
        return 1 / (1 + std::exp(-(sums(row, col) + gate.bias[static_cast<std::size_t>(col)])));
      };
      const float factor = gate.factors[static_cast<std::size_t>(head)];
      gates_(row, head) = sigmoid(0) * (sigmoid(1) * factor - 1) + 2;
    }
  }
}

void ScoreBiases::make_disentangled(const DisentangledSpec& spec, const LayerWeights& weights) {
  if (embedding_rows_.empty()) {
    for (std::int64_t at = 0; at < distances(tokens_); ++at) {
      embedding_rows_.push_back(disentangled_row(spec, at - (tokens_ - 1)));
    }
    first_row_ = embedding_rows_.back();  // row of the key furthest after the query
  }
  const std::int64_t count = embedding_rows_.front() - first_row_ + 1;
  const MatrixView<const float> embeddings = weights.distances->view().row_block(first_row_, count);
  const auto made = [&](const SharedLinear& layer, Matrix<float>& out) {
    if (out.rows() != count) out = Matrix<float>(count, layer->weights.outputs());
    apply(*layer, embeddings, {}, out.view(), compute_);
    return MatrixView<const float>(out.view());
  };
  const HeadShape& heads = spec_.dimensions.heads;
  if (spec.shared) {
    const MatrixView<const float> all = made(weights.qkv, distances_);
    const std::int64_t of_queries = heads.total_dim(Role::query);
    queries_ = all.col_block(0, of_queries);
    keys_ = all.col_block(of_queries, heads.total_dim(Role::key));
  } else {
    if (spec.position_to_content) queries_ = made(weights.distance_query, distances_);
    if (spec.content_to_position) keys_ = made(weights.distance_key, other_distances_);
  }
}

/// Projects the sinusoids of all distances from a key to a query, from −(tokens − 1) on. They are
/// rounded to float32 at the same steps as in transformers.
void ScoreBiases::make_relative(const RelativeWaveSpec& spec, const LayerWeights& weights) {
  const std::int64_t width = spec_.dimensions.width, half = width / 2;
  if (waves_.rows() == 0) {
    waves_ = Matrix<float>(distances(tokens_), width);
    for (std::int64_t row = 0; row < waves_.rows(); ++row) {
      std::int64_t distance = row - (tokens_ - 1);
      if (spec.clamp) distance = std::clamp(distance, -*spec.clamp, *spec.clamp);
      for (std::int64_t at = 0; at < half; ++at) {
        const float exponent = static_cast<float>(2 * at) / static_cast<float>(width);
        const float rate = 1 / static_cast<float>(std::pow(10000.0, static_cast<double>(exponent)));
        const auto angle = static_cast<double>(static_cast<float>(distance) * rate);
        waves_(row, at) = static_cast<float>(std::sin(angle));
        waves_(row, half + at) = static_cast<float>(std::cos(angle));
      }
    }
    distances_ = Matrix<float>(waves_.rows(), weights.relative_key->weights.outputs());
  }
  apply(*weights.relative_key, waves_.view(), {}, distances_.view(), compute_);
  relative_bias_ = weights.relative_bias;
}

MatrixView<const float> ScoreBiases::relative(std::size_t sequence, std::int64_t head,
                                              MatrixView<const float> q, Scratch& scratch) const {
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};
  Matrix<float>& queries = scratch.of_keys;
  if (queries.rows() != q.rows || queries.cols() != q.cols) queries = Matrix<float>(q.rows, q.cols);
  const float* own = relative_bias_.data() + head * q.cols;
  for (std::int64_t row = 0; row < q.rows; ++row) {
    for (std::int64_t col = 0; col < q.cols; ++col) queries(row, col) = q(row, col) + own[col];
  }
  multiply_rows(queries.view(), distances_.view().col_block(head * q.cols, q.cols),
                scratch.of_queries, alone);
  const std::int64_t tokens = rows_.tokens(sequence), first = rows_.first_position(sequence);
  Matrix<float>& bias = scratch.bias;
  if (bias.rows() != q.rows || bias.cols() != tokens) bias = Matrix<float>(q.rows, tokens);
  const auto scale = static_cast<float>(layer_->scale);
  for (std::int64_t query = 0; query < q.rows; ++query) {
    for (std::int64_t key = 0; key < tokens; ++key) {
      bias(query, key) = scale * scratch.of_queries(query, first + query - key + tokens_ - 1);
    }
  }
  return bias.view();
}

MatrixView<const float> ScoreBiases::of(std::size_t sequence, std::int64_t head,
                                        MatrixView<const float> q, MatrixView<const float> k,
                                        Scratch& scratch) const {
  if (layer_->disentangled) return disentangled(head, q, k, scratch);
  if (layer_->relative) return relative(sequence, head, q, scratch);
  if (layer_->distances) return by_distance(sequence, q, scratch);
  if (layer_->grid && layer_->grid->class_token) return grid(head, scratch);
  if (layer_->grid || layer_->axes || layer_->windows) {
    return between_patches(sequence, head, q, scratch);
  }
  if (!layer_->alibi && !layer_->buckets) return {};
  const float* of_head = &table_(head, 0);
  const std::int64_t tokens = rows_.tokens(sequence);
  if (layer_->alibi && layer_->alibi->in_bfloat16) {
    return {of_head, q.rows, tokens, /*row_stride=*/0};
  }
  const MatrixView<const float> bias =
      bias_by_distance(of_head + tokens_ - 1, rows_.first_position(sequence), q.rows, tokens);
  return layer_->buckets && layer_->buckets->gate ? gated(sequence, head, bias, scratch) : bias;
}

MatrixView<const float> ScoreBiases::gated(std::size_t sequence, std::int64_t head,
                                           MatrixView<const float> bias, Scratch& scratch) const {
  Matrix<float>& out = scratch.bias;
  if (out.rows() != bias.rows || out.cols() != bias.cols) {
    out = Matrix<float>(bias.rows, bias.cols);
  }
  for (std::int64_t query = 0; query < bias.rows; ++query) {
    const float factor = gates_(rows_.first[sequence] + query, head);
    for (std::int64_t key = 0; key < bias.cols; ++key) out(query, key) = factor * bias(query, key);
  }
  return out.view();
}

MatrixView<const float> ScoreBiases::by_distance(std::size_t sequence, MatrixView<const float> q,
                                                 Scratch& scratch) const {
  const DistanceBias& distances = *layer_->distances;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};
  const std::int64_t first = rows_.first_position(sequence), tokens = rows_.tokens(sequence);
  multiply_rows(q, distance_table_, scratch.of_queries, alone);
  Matrix<float>& bias = scratch.bias;
  if (bias.rows() != q.rows || bias.cols() != tokens) bias = Matrix<float>(q.rows, tokens);
  const auto scale = static_cast<float>(layer_->scale);
  for (std::int64_t query = 0; query < q.rows; ++query) {
    for (std::int64_t key = 0; key < tokens; ++key) {
      const std::int64_t row =
          std::clamp(key - query - first, -distances.before, distances.after) + distances.before;
      bias(query, key) = scale * scratch.of_queries(query, row);
    }
  }
  return bias.view();
}

MatrixView<const float> ScoreBiases::grid(std::int64_t head, Scratch& scratch) const {
  const PatchGrid& grid = *rows_.grid;
  const std::int64_t tokens = grid.length();
  const std::int64_t across = 2 * grid.cols - 1, offsets = (2 * grid.rows - 1) * across;
  const auto value = [&](std::int64_t row) {
    return grid_table_[static_cast<std::size_t>(row * heads_ + head)];
  };
  Matrix<float>& bias = scratch.bias;
  if (bias.rows() != tokens || bias.cols() != tokens) bias = Matrix<float>(tokens, tokens);
  for (std::int64_t patch = 0; patch < grid.patches(); ++patch) {
    bias(0, patch + 1) = value(offsets);
    bias(patch + 1, 0) = value(offsets + 1);
    for (std::int64_t key = 0; key < grid.patches(); ++key) {
      const std::int64_t down = patch / grid.cols - key / grid.cols + grid.rows - 1;
      const std::int64_t right = patch % grid.cols - key % grid.cols + grid.cols - 1;
      bias(patch + 1, key + 1) = value(down * across + right);
    }
  }
  bias(0, 0) = value(offsets + 2);
  return bias.view();
}

MatrixView<const float> ScoreBiases::between_patches(std::size_t sequence, std::int64_t head,
                                                     MatrixView<const float> q,
                                                     Scratch& scratch) const {
  const PatchWindow* window =
      rows_.windows == nullptr ? nullptr : &(*rows_.windows)[sequence % rows_.windows->size()];
  const std::int64_t side = layer_->windows ? layer_->windows->size : 0;
  const PatchGrid grid = window == nullptr ? *rows_.grid : PatchGrid{.rows = side, .cols = side};
  const std::int64_t across = 2 * grid.cols - 1, tokens = q.rows;
  const auto place = [&](std::int64_t token) {
    return window == nullptr ? token : window->places[static_cast<std::size_t>(token)];
  };
  const bool wraps = window != nullptr && !window->regions.empty();
  const auto region = [&](std::int64_t token) {
    return window->regions[static_cast<std::size_t>(token)];
  };
  if (row_offsets_ != nullptr) {
    const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};
    multiply_rows(q, row_offsets_->view(), scratch.of_queries, alone);
    multiply_rows(q, column_offsets_->view(), scratch.of_columns, alone);
  }
  Matrix<float>& bias = scratch.bias;
  if (bias.rows() != tokens || bias.cols() != tokens) bias = Matrix<float>(tokens, tokens);
  for (std::int64_t query = 0; query < tokens; ++query) {
    const std::int64_t from = place(query);
    for (std::int64_t key = 0; key < tokens; ++key) {
      const std::int64_t to = place(key);
      const std::int64_t down = from / grid.cols - to / grid.cols + grid.rows - 1;
      const std::int64_t right = from % grid.cols - to % grid.cols + grid.cols - 1;
      float sum = 0;
      if (!grid_table_.empty()) {
        sum = grid_table_[static_cast<std::size_t>((down * across + right) * heads_ + head)];
      }
      if (row_offsets_ != nullptr) {
        sum += scratch.of_queries(query, down) + scratch.of_columns(query, right);
      }
      if (wraps && region(query) != region(key)) {
        sum += static_cast<float>(layer_->windows->wrapped);
      }
      bias(query, key) = sum;
    }
  }
  return bias.view();
}

MatrixView<const float> ScoreBiases::disentangled(std::int64_t head, MatrixView<const float> q,
                                                  MatrixView<const float> k,
                                                  Scratch& scratch) const {
  const DisentangledSpec& spec = *layer_->disentangled;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};
  const auto of_head = [&](MatrixView<const float> all) {
    return all.col_block(head * q.cols, q.cols);
  };
  if (spec.content_to_position) multiply_rows(q, of_head(keys_), scratch.of_queries, alone);
  if (spec.position_to_content) multiply_rows(k, of_head(queries_), scratch.of_keys, alone);
  Matrix<float>& bias = scratch.bias;
  if (bias.rows() != q.rows || bias.cols() != k.rows) bias = Matrix<float>(q.rows, k.rows);
  const auto scale = static_cast<float>(layer_->scale);
  for (std::int64_t query = 0; query < q.rows; ++query) {
    const std::int64_t* rows = &embedding_rows_[static_cast<std::size_t>(tokens_ - 1 - query)];
    for (std::int64_t key = 0; key < k.rows; ++key) {
      const std::int64_t row = rows[key] - first_row_;
      float sum = 0;
      if (spec.content_to_position) sum += scratch.of_queries(query, row);
      if (spec.position_to_content) sum += scratch.of_keys(key, row);
      bias(query, key) = scale * sum;
    }
  }
  return bias.view();
}

}  // namespace attnscope
