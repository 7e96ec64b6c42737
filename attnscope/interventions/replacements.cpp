#include "attnscope/interventions/ablation.h"

#include <algorithm>

#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {

std::vector<float> column_means(const Matrix<float>& rows) {
  std::vector<double> sums(static_cast<std::size_t>(rows.cols()), 0.0);
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t col = 0; col < rows.cols(); ++col) {
      sums[static_cast<std::size_t>(col)] += static_cast<double>(rows(row, col));
    }
  }
  std::vector<float> means;
  for (const double sum : sums) {
    means.push_back(static_cast<float>(sum / static_cast<double>(rows.rows())));
  }
  return means;
}

Replacements::Replacements(const LayerParts& layer, Replacement how, std::int64_t length)
    : layer_(layer), how_(how), length_(length) {
  if (how != Replacement::mean) return;
  heads_ = column_means(layer.heads());
  mlp_ = column_means(layer.mlp());
}

LayerParts::Replace Replacements::of(const TextChunk& chunk) const {
  return [this, &chunk](const PartOfLayer& part, MatrixView<float> out) {
    const LayerParts::Columns columns = layer_.columns(part);
    const std::vector<float>& means = part.part == LayerPart::mlp ? mlp_ : heads_;
    for (std::int64_t row = 0; row < out.rows; ++row) {
      float* to = &out(row, 0);
      if (how_ == Replacement::zero) {
        std::fill_n(to, out.cols, 0.0F);
      } else if (how_ == Replacement::mean) {
        std::copy_n(means.data() + columns.first, out.cols, to);
      } else {
        const std::int64_t from = (chunk.first_part_row + row + length_) % layer_.rows();
        std::copy_n(&(*columns.all)(from, columns.first), out.cols, to);
      }
    }
  };
}

LayerParts::Replace given_on(const LayerParts& other, const TextChunk& chunk) {
  return [&other, &chunk](const PartOfLayer& part, MatrixView<float> out) {
    const LayerParts::Columns columns = other.columns(part);
    copy_into(out, columns.all->view()
                       .row_block(chunk.first_part_row, chunk.part_rows)
                       .col_block(columns.first, columns.count));
  };
}

}  // namespace attnscope
