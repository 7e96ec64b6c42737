#include "attnscope/features/directions/text_correlation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "attnscope/features/directions/token_copying.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/numerics/products/dense_products.h"

namespace attnscope {
namespace {

/// Pearson correlation of two columns (count, 1).
std::optional<double> correlation(MatrixView<const double> a, MatrixView<const double> b) {
  double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
  const auto count = static_cast<double>(a.rows);
  for (std::int64_t row = 0; row < a.rows; ++row) {
    mean_a += a(row, 0) / count;
    mean_b += b(row, 0) / count;
  }
  for (std::int64_t row = 0; row < a.rows; ++row) {
    const double of_a = a(row, 0) - mean_a, of_b = b(row, 0) - mean_b;
    aa += of_a * of_a;
    bb += of_b * of_b;
    ab += of_a * of_b;
  }
  if (!(aa > 0) || !(bb > 0)) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

class TextReader {
 public:
  TextReader(const ForwardPass& pass, const BatchInputs& text, const TokenIds& naming,
             std::span<const ReadVectors> reads, const Compute& compute)
      : pass_(pass), text_(text), reads_(reads), compute_(compute) {
    std::map<std::int64_t, std::int64_t> places;
    for (const TokenIds& ids : text.tokens) {
      for (const std::int64_t id : ids) {
        if (std::binary_search(naming.begin(), naming.end(), id)) ++places[id];
      }
    }
    for (const auto& [id, count] : places) {
      kind_of_[id] = std::ssize(kinds_);
      kinds_.push_back(id);
      counts_.push_back(count);
    }
    for (const ReadVectors& read : reads) {
      sums_.emplace_back(std::ssize(kinds_), read.vectors.rows);
      std::fill_n(sums_.back().data(), sums_.back().rows() * sums_.back().cols(), 0.0);
      last_layer_ = std::max(last_layer_, read.layer);
    }
  }

  std::vector<std::vector<std::optional<double>>> run() {
    if (std::ssize(kinds_) < kFewestKinds) return {};
    const std::int64_t each = sequences_at_once(rows_of(pass_.model(), text_));
    const auto all = std::ssize(text_.tokens);
    for (std::int64_t first = 0; first < all; first += each) {
      run_some(static_cast<std::size_t>(first),
               static_cast<std::size_t>(std::min(each, all - first)));
    }
    const NameScores scores = name_scores();
    std::vector<std::vector<std::optional<double>>> out;
    for (std::size_t at = 0; at < reads_.size(); ++at) {
      Matrix<double>& means = sums_[at];
      for (std::int64_t row = 0; row < means.rows(); ++row) {
        const auto count = static_cast<double>(counts_[static_cast<std::size_t>(row)]);
        for (std::int64_t col = 0; col < means.cols(); ++col) means(row, col) /= count;
      }
      auto& found = out.emplace_back();
      for (std::int64_t col = 0; col < means.cols(); ++col) {
        found.push_back(correlation(std::as_const(means).view().col_block(col, 1),
                                    scores.of_read[at].col_block(col, 1)));
      }
    }
    return out;
  }

 private:
  /// The scores of distinct tokens along the vectors of each of reads_, (tokens, count). The rows
  /// of a basis may require a whole MLP, so they are computed once for all vectors.
  struct NameScores {
    std::map<TokenBasis, Matrix<double>> of_basis;
    std::vector<MatrixView<const double>> of_read;  // columns of the scores
  };

  NameScores name_scores() const {
    std::map<TokenBasis, std::vector<std::size_t>> named_by;
    for (std::size_t at = 0; at < reads_.size(); ++at) {
      named_by[reads_[at].named_by].push_back(at);
    }
    NameScores out{.of_basis = {}, .of_read = std::vector<MatrixView<const double>>(reads_.size())};
    for (const auto& [basis, reads] : named_by) {
      std::int64_t count = 0;
      for (const std::size_t at : reads) count += reads_[at].vectors.rows;
      Matrix<double> vectors(count, pass_.model().dimensions().width);
      std::int64_t first = 0;
      for (const std::size_t at : reads) {
        const MatrixView<const double> own = reads_[at].vectors;
        for (std::int64_t row = 0; row < own.rows; ++row, ++first) {
          for (std::int64_t col = 0; col < own.cols; ++col) vectors(first, col) = own(row, col);
        }
      }
      const Matrix<double>& all = out.of_basis[basis] =
          tokens_times(pass_, basis, kinds_, vectors.view(), compute_);
      first = 0;
      for (const std::size_t at : reads) {
        out.of_read[at] = all.view().col_block(first, reads_[at].vectors.rows);
        first += reads_[at].vectors.rows;
      }
    }
    return out;
  }

  const LayerWeights& layer(std::int64_t layer) const {
    return pass_.weights().layers[static_cast<std::size_t>(layer)];
  }

  void run_some(std::size_t first, std::size_t count) {
    BatchInputs some{.tokens = text_.tokens.subspan(first, count)};
    if (!text_.sources.empty()) some.sources = text_.sources.subspan(first, count);
    ForwardObserver observer;
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (index == pass_.model().dimensions().layers) return;
      add(some, index, /*of_mlp=*/false, layer(index).attention_input, stream);
      const bool parallel = pass_.model().spec().layers[static_cast<std::size_t>(index)].parallel;
      if (!parallel) return;  // on_middle sees the MLP input
      const OptionalNorm& own = layer(index).mlp_input;
      add(some, index, /*of_mlp=*/true, own ? own : layer(index).attention_input, stream);
    };
    observer.on_middle = [&](std::int64_t index, MatrixView<const float> stream) {
      add(some, index, /*of_mlp=*/true, layer(index).mlp_input, stream);
    };
    observer.end_after_layer = last_layer_;
    run_inputs(pass_, some, observer, compute_);
  }

  void add(const BatchInputs& some, std::int64_t number, bool of_mlp, const OptionalNorm& norm,
           MatrixView<const float> stream) {
    Matrix<double> inputs;
    for (std::size_t at = 0; at < reads_.size(); ++at) {
      if (reads_[at].layer != number || reads_[at].of_mlp != of_mlp) continue;
      if (inputs.rows() == 0) inputs = normed(norm, stream);
      const Matrix<double> found = multiply_transposed(inputs.view(), reads_[at].vectors, compute_);
      std::int64_t row = 0;
      for (const TokenIds& ids : some.tokens) {
        for (const std::int64_t id : ids) {
          const auto kind = kind_of_.find(id);
          if (kind != kind_of_.end()) {
            for (std::int64_t col = 0; col < found.cols(); ++col) {
              sums_[at](kind->second, col) += found(row, col);
            }
          }
          ++row;
        }
      }
    }
  }

  static Matrix<double> normed(const OptionalNorm& norm, MatrixView<const float> stream) {
    Matrix<float> rows = copied(stream);
    if (norm) norm_without_gain(norm->spec, rows);
    return in_float64(rows);
  }

  const ForwardPass& pass_;
  const BatchInputs& text_;
  std::span<const ReadVectors> reads_;
  const Compute& compute_;
  std::int64_t last_layer_ = 0;
  TokenIds kinds_;
  std::vector<std::int64_t> counts_;              // number of positions per token
  std::map<std::int64_t, std::int64_t> kind_of_;  // index by token id
  std::vector<Matrix<double>> sums_;              // per element of reads_: (tokens, count)
};

}  // namespace

std::vector<std::vector<std::optional<double>>> text_correlations(
    const ForwardPass& pass, const BatchInputs& text, const TokenIds& naming,
    std::span<const ReadVectors> reads, const Compute& compute) {
  return TextReader(pass, text, naming, reads, compute).run();
}

}  // namespace attnscope
