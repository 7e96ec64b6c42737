#include "attnscope/interventions/attended_token_effect.h"

#include "attnscope/base/role.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {

AttendedTokenEffect::AttendedTokenEffect(const ForwardPass& pass, const LinearHead& head,
                                         std::span<const TokenIds> sequences,
                                         const Compute& compute)
    : pass_(pass), head_(head), compute_(compute) {
  TokenIds all;
  for (const TokenIds& ids : sequences) {
    lengths_.push_back(std::ssize(ids));
    all.insert(all.end(), ids.begin(), ids.end());
  }
  directions_ = head.directions(all);
}

void AttendedTokenEffect::add_values(std::int64_t layer, MatrixView<const float> values) {
  const Matrix<float> through = head_.through_output(layer, directions_.view(), compute_);
  const HeadShape& shape = pass_.model().spec().dimensions_of(layer).heads;
  Matrix<double> own(shape.heads, values.rows);
  run_parts(compute_, static_cast<std::size_t>(shape.heads), [&](std::size_t part) {
    const auto head = static_cast<std::int64_t>(part);
    const std::int64_t of_values = shape.kv_head(head) * shape.value_dim;
    for (std::int64_t row = 0; row < values.rows; ++row) {
      own(head, row) = row_product(&values(row, of_values), &through(row, head * shape.value_dim),
                                   shape.value_dim);
    }
  });
  layers_[layer].own = std::move(own);
}

void AttendedTokenEffect::add_maps(const LayerMaps& maps) {
  Layer& layer = layers_.at(maps.layer);
  layer.read = Matrix<double>(maps.heads, layer.own.cols());
  run_parts(compute_, static_cast<std::size_t>(maps.heads), [&](std::size_t part) {
    const auto head = static_cast<std::int64_t>(part);
    std::int64_t first = 0;
    for (std::size_t sequence = 0; sequence < lengths_.size(); ++sequence) {
      const MatrixView<const float> map = maps.map(static_cast<std::int64_t>(sequence), head);
      for (std::int64_t query = 0; query < map.rows; ++query) {
        const float* row = &map(query, 0);
        const double* own = &layer.own(head, first);
        layer.read(head, first + query) =
            sum_over(static_cast<std::size_t>(map.cols),
                     [&](std::size_t key) { return static_cast<double>(row[key]) * own[key]; });
      }
      first += lengths_[sequence];
    }
  });
}

void AttendedTokenEffect::end(MatrixView<const float> last_stream) {
  const std::vector<double> scales = head_.scales(last_stream);
  for (auto& [number, layer] : layers_) {
    if (layer.read.cols() == 0) continue;  // its maps were not requested
    layer.means = Matrix<double>(std::ssize(lengths_), layer.read.rows());
    for (std::int64_t head = 0; head < layer.read.rows(); ++head) {
      std::int64_t row = 0;
      for (std::int64_t sequence = 0; sequence < layer.means.rows(); ++sequence) {
        const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
        double sum = 0;
        for (std::int64_t query = 0; query < length; ++query, ++row) {
          sum += layer.read(head, row) / scales[static_cast<std::size_t>(row)];
        }
        layer.means(sequence, head) = sum / static_cast<double>(length);
      }
    }
  }
}

}  // namespace attnscope
