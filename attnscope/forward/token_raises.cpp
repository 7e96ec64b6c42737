#include "attnscope/forward/token_raises.h"

#include "attnscope/core/role.h"

namespace attnscope {

TokenRaises::TokenRaises(const ForwardPass& pass, const LinearHead& head,
                         std::span<const TokenIds> sequences, const Compute& compute)
    : pass_(pass), head_(head), compute_(compute) {
  TokenIds all;
  for (const TokenIds& ids : sequences) {
    lengths_.push_back(std::ssize(ids));
    all.insert(all.end(), ids.begin(), ids.end());
  }
  directions_ = head.directions(all);
}

void TokenRaises::add_values(std::int64_t layer, MatrixView<const float> values) {
  const Matrix<float> through = head_.through_output(layer, directions_.view(), compute_);
  const HeadShape& shape = pass_.model().spec().dimensions_of(layer).heads;
  Matrix<double> own(values.rows, shape.heads);
  run_parts(compute_, static_cast<std::size_t>(shape.heads), [&](std::size_t part) {
    const auto head = static_cast<std::int64_t>(part);
    const std::int64_t of_values = shape.kv_head(head) * shape.value_dim;
    for (std::int64_t row = 0; row < values.rows; ++row) {
      own(row, head) = row_product(&values(row, of_values), &through(row, head * shape.value_dim),
                                   shape.value_dim);
    }
  });
  layers_[layer].own = std::move(own);
}

void TokenRaises::add_maps(const LayerMaps& maps) {
  Layer& layer = layers_.at(maps.layer);
  layer.read = Matrix<double>(layer.own.rows(), maps.heads);
  run_parts(compute_, static_cast<std::size_t>(maps.heads), [&](std::size_t part) {
    const auto head = static_cast<std::int64_t>(part);
    std::int64_t first = 0;
    for (std::size_t sequence = 0; sequence < lengths_.size(); ++sequence) {
      const MatrixView<const float> map = maps.map(static_cast<std::int64_t>(sequence), head);
      for (std::int64_t query = 0; query < map.rows; ++query) {
        double sum = 0;
        for (std::int64_t key = 0; key < map.cols; ++key) {
          sum += static_cast<double>(map(query, key)) * layer.own(first + key, head);
        }
        layer.read(first + query, head) = sum;
      }
      first += lengths_[sequence];
    }
  });
}

void TokenRaises::end(MatrixView<const float> last_stream) {
  const std::vector<double> scales = head_.scales(last_stream);
  for (auto& [number, layer] : layers_) {
    if (layer.read.rows() == 0) continue;  // whose maps nobody wanted
    layer.means = Matrix<double>(std::ssize(lengths_), layer.read.cols());
    for (std::int64_t head = 0; head < layer.read.cols(); ++head) {
      std::int64_t row = 0;
      for (std::int64_t sequence = 0; sequence < layer.means.rows(); ++sequence) {
        const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
        double sum = 0;
        for (std::int64_t query = 0; query < length; ++query, ++row) {
          sum += layer.read(row, head) / scales[static_cast<std::size_t>(row)];
        }
        layer.means(sequence, head) = sum / static_cast<double>(length);
      }
    }
  }
}

}  // namespace attnscope
