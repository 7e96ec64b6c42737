#include "attnscope/features/plan/methods/mla_layer.h"

#include <algorithm>
#include <cmath>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/narrow_values.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// Queries and keys with biases as an additional column.
struct LayerKeys {
  Matrix<double> query, key, moments;
  RotaryKeys rotary;
};

/// Error from ignoring the rotation of a pair: the mean of |1 - e^{iθΔ}|² over distances.
double need_of(double radians, std::int64_t context) {
  double sum = 0;
  for (std::int64_t distance = 1; distance < context; ++distance) {
    sum += 2 - 2 * std::cos(radians * static_cast<double>(distance));
  }
  return sum / static_cast<double>(std::max<std::int64_t>(1, context - 1));
}

/// A weighted block of the joint matrix, and the inverse of its weighting.
struct JointBlock {
  Matrix<double> weighted;  // (size, D + 1)
  Matrix<double> undo;      // (size, size)
  double energy = 0;
};

JointBlock joint_block(SymmetricRoot root, MatrixView<const double> rows,
                       MatrixView<const double> moments, const Compute& compute) {
  JointBlock out{.weighted = product(root.root.view(), rows, compute),
                 .undo = std::move(root.inverse)};
  out.energy = output_energy(out.weighted.view(), moments, compute);
  return out;
}

/// Keys without rotation, weighted by the queries of each head.
JointBlock key_block(const LayerKeys& keys, MatrixView<const double> rest, std::int64_t group,
                     const HeadShape& heads, const Compute& compute) {
  const std::int64_t size = heads.head_dim;
  Matrix<double> sum(size, size);
  std::fill_n(sum.data(), size * size, 0.0);
  for (std::int64_t head = 0; head < heads.heads; ++head) {
    if (heads.kv_head(head) != group) continue;
    const auto own = keys.query.view().row_block(head * size, size);
    const Matrix<double> read = product(own, keys.moments.view(), compute);
    const Matrix<double> squares = multiply_transposed(read.view(), own, compute);
    for (std::int64_t at = 0; at < size * size; ++at) sum.data()[at] += squares.data()[at];
  }
  constexpr double kLeast = 1e-8;
  return joint_block(symmetric_root(sum.view(), kLeast, compute),
                     rest.row_block(group * size, size), keys.moments.view(), compute);
}

LayerKeys keys_of(const Model& model, std::int64_t layer, const TextStatistics& text,
                  const Compute& compute) {
  LayerKeys out{.query = with_bias_column(model, layer, Role::query),
                .key = with_bias_column(model, layer, Role::key),
                .moments = text.moments(layer, Role::key).mean_second_with_one(),
                .rotary = {}};
  const HeadShape& heads = model.dimensions().heads;
  out.rotary = rotary_keys(out.query.view(), out.key.view(), out.moments.view(), heads, 0,
                           heads.kv_heads, compute);
  return out;
}

/// The down-projection (r, D + 1) to a latent with E‖z‖² = 1, and the up-projections to keys and
/// values.
struct KvLatent {
  Matrix<double> down;
  std::vector<Matrix<double>> keys, values;  // per key/value head, (size, r)
};

KvLatent make_kv_latent(const Model& model, std::int64_t layer, const LayerKeys& keys,
                        const MlaShape& shape, const Compute& compute) {
  const HeadShape& heads = shape.heads;
  const Matrix<double> value = with_bias_column(model, layer, Role::value);
  const Matrix<double> output = canonical_matrix(model, layer, Role::output);
  std::vector<JointBlock> blocks;
  double of_keys = 0, of_values = 0;
  if (shape.content > 0) {
    Matrix<double> rest(keys.key.rows(), keys.key.cols());
    std::vector<std::int64_t> kept(static_cast<std::size_t>(keys.rotary.pairs), 0);
    for (const RotarySlot& slot : shape.slots) ++kept[static_cast<std::size_t>(slot.pair)];
    for (std::int64_t pair = 0; pair < keys.rotary.pairs; ++pair) {
      keep_components(keys.rotary, keys.key.view(), heads, pair,
                      kept[static_cast<std::size_t>(pair)], rest);
    }
    for (std::int64_t group = 0; group < heads.kv_heads; ++group) {
      blocks.push_back(key_block(keys, rest.view(), group, heads, compute));
      of_keys += blocks.back().energy;
    }
  }
  for (std::int64_t group = 0; group < heads.kv_heads; ++group) {
    blocks.push_back(joint_block(value_weight(output.view(), group, heads, compute),
                                 value.view().row_block(group * heads.value_dim, heads.value_dim),
                                 keys.moments.view(), compute));
    of_values += blocks.back().energy;
  }
  // Keys and values have different units, so both parts are scaled to the same total energy.
  const double balance = of_keys > 0 && of_values > 0 ? std::sqrt(of_values / of_keys) : 1;
  const std::size_t key_blocks = shape.content > 0 ? static_cast<std::size_t>(heads.kv_heads) : 0;
  std::int64_t rows = 0;
  for (const JointBlock& block : blocks) rows += block.weighted.rows();
  Matrix<double> joint(rows, shape.width + 1);
  std::int64_t row = 0;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    const double factor = at < key_blocks ? balance : 1;
    const Matrix<double>& own = blocks[at].weighted;
    for (std::int64_t element = 0; element < own.rows() * own.cols(); ++element) {
      (&joint(row, 0))[element] = factor * own.data()[element];
    }
    row += own.rows();
  }
  const OutputDirections directions =
      output_directions(joint.view(), {.sums = keys.moments.view()}, compute);
  const std::int64_t there = std::min(shape.rank, directions.basis.rows());
  const auto basis = directions.basis.view().row_block(0, there);
  const Matrix<double> read = product(basis, joint.view(), compute);
  const double size =
      std::sqrt(std::max(output_energy(read.view(), keys.moments.view(), compute), 1e-30));
  KvLatent out{.down = Matrix<double>(shape.rank, shape.width + 1)};
  std::fill_n(out.down.data(), shape.rank * (shape.width + 1), 0.0);
  for (std::int64_t at = 0; at < there * (shape.width + 1); ++at) {
    out.down.data()[at] = read.data()[at] / size;
  }
  row = 0;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    const std::int64_t count = blocks[at].undo.rows();
    const Matrix<double> undone =
        product(blocks[at].undo.view(), basis.col_block(row, count).transposed(), compute);
    const double factor = size / (at < key_blocks ? balance : 1);
    Matrix<double> up(count, shape.rank);
    std::fill_n(up.data(), count * shape.rank, 0.0);
    for (std::int64_t line = 0; line < count; ++line) {
      for (std::int64_t col = 0; col < there; ++col) up(line, col) = factor * undone(line, col);
    }
    (at < key_blocks ? out.keys : out.values).push_back(std::move(up));
    row += count;
  }
  return out;
}

/// The last latent dimension: so large that it alone determines the RMS of the latent.
constexpr double kConstant = 16384;
constexpr double kNormEpsilon = 1e-6;  // of the latent norm, independent of the norms of the model

/// Queries of all heads, (H (content + R), D + 1): unrotated queries, then those of the rotary
/// slots.
Matrix<double> mla_queries(const LayerKeys& keys, const MlaShape& shape) {
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
  // MLA attention divides scores by the square root of this size, the original model by that of its
  // head dimension.
  const double scale = std::sqrt(static_cast<double>(size) / static_cast<double>(heads.head_dim));
  for (std::int64_t at = 0; at < out.rows() * out.cols(); ++at) out.data()[at] *= scale;
  return out;
}

std::vector<double> ones(std::int64_t count) {
  return std::vector<double>(static_cast<std::size_t>(count), 1.0);
}

/// DeepSeek-V3 queries can have a bias only through a query latent, which is then (x, constant).
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

}  // namespace

std::vector<RotarySlot> chosen_slots(const Model& model, std::int64_t count, bool partial,
                                     const TextStatistics& text, const Compute& compute) {
  const HeadShape& heads = model.dimensions().heads;
  const std::int64_t pairs = heads.head_dim / 2;
  const RopeFrequencies frequencies = frequencies_of(model);
  Matrix<double> energy(pairs, heads.kv_heads);
  std::fill_n(energy.data(), pairs * heads.kv_heads, 0.0);
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    compute.check_stop();
    const LayerKeys keys = keys_of(model, layer, text, compute);
    Matrix<double> own(pairs, heads.kv_heads);
    double total = 0;
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const double need =
          partial ? need_of(static_cast<double>(
                                frequencies.radians_per_token[static_cast<std::size_t>(pair)]),
                            model.dimensions().context.value_or(1))
                  : 1;
      const auto& values = keys.rotary.components[static_cast<std::size_t>(pair)].values;
      for (std::int64_t component = 0; component < heads.kv_heads; ++component) {
        own(pair, component) = need * std::max(0.0, values[static_cast<std::size_t>(component)]);
        total += own(pair, component);
      }
    }
    for (std::int64_t at = 0; total > 0 && at < pairs * heads.kv_heads; ++at) {
      energy.data()[at] += own.data()[at] / total;
    }
  }
  std::vector<std::pair<double, std::int64_t>> order;
  for (std::int64_t at = 0; at < pairs * heads.kv_heads; ++at) {
    order.emplace_back(-energy.data()[at], at);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> components(static_cast<std::size_t>(pairs), 0);
  for (std::int64_t at = 0; at < count; ++at) {
    ++components[static_cast<std::size_t>(order[static_cast<std::size_t>(at)].second /
                                          heads.kv_heads)];
  }
  std::vector<RotarySlot> slots;
  for (std::int64_t component = 0; component < heads.kv_heads; ++component) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      if (component < components[static_cast<std::size_t>(pair)])
        slots.push_back({pair, component});
    }
  }
  return slots;
}

void put_latent_layer(ChangedModel& changed, std::int64_t layer, const MlaShape& shape,
                      const TextStatistics& text, const Compute& compute) {
  const Model& model = changed.source();
  const HeadShape& heads = shape.heads;
  const std::string start = model.prefix() + "layers." + std::to_string(layer) + ".self_attn.";
  const bool biased = model.weight(layer, Role::query).bias != nullptr;
  const LayerKeys keys = keys_of(model, layer, text, compute);
  const KvLatent latent = make_kv_latent(model, layer, keys, shape, compute);
  put_queries(changed, start, mla_queries(keys, shape), keys, biased);

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

}  // namespace attnscope
