// W_Q and W_K of multi-head latent attention, as used in spectra and circuits, reproduce the
// attention maps of a run. For this, the typical RMS of the latents is replaced by that of each
// token.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attnscope/features/common/mla_latents.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/model/rope.h"

namespace attnscope {
namespace {

/// Inputs (T, D) of the attention of layer 0.
Matrix<double> attention_inputs(const Model& model, MatrixView<const float> stream) {
  const Gain gain = *read_input_gain(model, 0).values;
  const double epsilon = model.spec().layers[0].attention_input->epsilon;
  Matrix<double> out(stream.rows, stream.cols);
  for (std::int64_t row = 0; row < stream.rows; ++row) {
    double squares = 0;
    for (std::int64_t col = 0; col < stream.cols; ++col) {
      squares += static_cast<double>(stream(row, col)) * static_cast<double>(stream(row, col));
    }
    const double rms = std::sqrt(squares / static_cast<double>(stream.cols) + epsilon);
    for (std::int64_t col = 0; col < stream.cols; ++col) {
      out(row, col) =
          static_cast<double>(stream(row, col)) / rms * gain[static_cast<std::size_t>(col)];
    }
  }
  return out;
}

std::vector<double> times(MatrixView<const double> matrix, const double* x) {
  std::vector<double> out;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    double sum = 0;
    for (std::int64_t col = 0; col < matrix.cols; ++col) sum += matrix(row, col) * x[col];
    out.push_back(sum);
  }
  return out;
}

/// Factor from the typical RMS of a latent to that of one token. `stored` (rank, D) maps the input
/// to the latent before its norm.
double correction(const MlaFactors& typical, const Matrix<double>& stored, const Gain& gain,
                  std::int64_t rank, double epsilon, const double* x) {
  const std::vector<double> own = times(stored.view().row_block(0, rank), x);
  double squares = 0;
  for (const double value : own) squares += value * value;
  const double rms = std::sqrt(squares / static_cast<double>(rank) + epsilon);
  // From the first row: gain / rms of this token, divided by the typical factor.
  return gain[0] / rms / (typical.down(0, 0) / stored(0, 0));
}

void turn(std::vector<double>& head, std::int64_t rotary, const RopeFrequencies& turns,
          RotaryPairs pairs, std::int64_t position) {
  const auto count = static_cast<std::int64_t>(turns.radians_per_token.size());
  const std::size_t first = head.size() - static_cast<std::size_t>(rotary);
  for (std::int64_t pair = 0; pair < count; ++pair) {
    const auto [at, step] = rotary_pair(pairs, pair, count);
    const double angle =
        static_cast<double>(turns.radians_per_token[static_cast<std::size_t>(pair)]) *
        static_cast<double>(position);
    double& x = head[first + static_cast<std::size_t>(at)];
    double& y = head[first + static_cast<std::size_t>(at + step)];
    const double rotated = x * std::cos(angle) - y * std::sin(angle);
    y = y * std::cos(angle) + x * std::sin(angle);
    x = rotated;
  }
}

class MlaScores : public testing::TestWithParam<const char*> {};

TEST_P(MlaScores, EqualThoseOfARun) {
  const auto folder =
      std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/forward" / GetParam();
  const Model model = Model::open(folder);
  const HeadShape& heads = model.dimensions().heads;
  const MlaRanks ranks = *model.dimensions().mla;
  const AttentionSpec& spec = model.spec().layers[0].attention;
  const TokenIds tokens = {4, 17, 29, 33, 8, 12, 40};
  const auto count = std::ssize(tokens);

  Matrix<double> inputs;
  std::vector<Matrix<double>> maps;
  const ForwardObserver observer{.on_hidden_states =
                                     [&](std::int64_t index, MatrixView<const float> states) {
                                       if (index == 0) inputs = attention_inputs(model, states);
                                     },
                                 .on_maps =
                                     [&](const LayerMaps& layer) {
                                       for (std::int64_t head = 0; head < layer.heads; ++head) {
                                         Matrix<double>& map = maps.emplace_back(count, count);
                                         for (std::int64_t row = 0; row < count; ++row) {
                                           for (std::int64_t col = 0; col < count; ++col) {
                                             map(row, col) =
                                                 static_cast<double>(layer.map(0, head)(row, col));
                                           }
                                         }
                                       }
                                     },
                                 .end_after_maps_of = 0};
  ForwardPass(model, false, {}).run(std::vector<TokenIds>{tokens}, observer, {});
  ASSERT_EQ(std::ssize(maps), heads.heads);

  const auto query = read_mla(model, 0, Role::query, SharedRows::in_every_head).values;
  const auto key = read_mla(model, 0, Role::key, SharedRows::in_every_head).values;
  const auto query_down = read_weight_float64(model, model.weight(0, Role::query_down)).values;
  const auto key_down = read_weight_float64(model, model.weight(0, Role::kv_down)).values;
  const Gain query_gain = read_gain(model, *spec.mla->query_norm, 0, ranks.query).values;
  const Gain key_gain = read_gain(model, spec.mla->norm, 0, ranks.key_value).values;
  const Matrix<double> queries = product_of(query), keys = product_of(key);
  const RopeFrequencies frequencies =
      rope_frequencies(*spec.rope, heads.head_dim, count, model.spec().source);

  for (std::int64_t head = 0; head < heads.heads; ++head) {
    const auto rows = [&](const Matrix<double>& matrix) {
      return matrix.view().row_block(head * heads.head_dim, heads.head_dim);
    };
    std::vector<std::vector<double>> q, k;
    for (std::int64_t token = 0; token < count; ++token) {
      const double* x = &inputs(token, 0);
      q.push_back(times(rows(queries), x));
      const double of_query =
          correction(query, query_down, query_gain, ranks.query, spec.mla->query_norm->epsilon, x);
      for (double& value : q.back()) value *= of_query;
      k.push_back(times(rows(keys), x));
      const double of_key =
          correction(key, key_down, key_gain, ranks.key_value, spec.mla->norm.epsilon, x);
      for (std::int64_t row = 0; row < heads.head_dim - heads.shared_key_dim; ++row) {
        k.back()[static_cast<std::size_t>(row)] *= of_key;
      }
      for (auto* side : {&q.back(), &k.back()}) {
        turn(*side, heads.shared_key_dim, frequencies, spec.rope->pairs, token);
      }
    }
    for (std::int64_t row = 0; row < count; ++row) {
      std::vector<double> shares;
      double sum = 0;
      for (std::int64_t col = 0; col <= row; ++col) {
        double score = 0;
        for (std::size_t at = 0; at < q[0].size(); ++at) {
          score += q[static_cast<std::size_t>(row)][at] * k[static_cast<std::size_t>(col)][at];
        }
        shares.push_back(std::exp(spec.scale * score));
        sum += shares.back();
      }
      for (std::int64_t col = 0; col <= row; ++col) {
        EXPECT_NEAR(shares[static_cast<std::size_t>(col)] / sum,
                    maps[static_cast<std::size_t>(head)](row, col), 1e-6)
            << "head " << head << ", query " << row << ", key " << col;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, MlaScores, testing::Values("deepseek_v3", "minicpm3"));

}  // namespace
}  // namespace attnscope
