#include "attnscope/forward/altup.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {
namespace {

float mean_square(MatrixView<const float> rows, std::int64_t row) {
  double sum = 0;
  for (std::int64_t col = 0; col < rows.cols; ++col) {
    const auto value = static_cast<double>(rows(row, col));
    sum += value * value;
  }
  return static_cast<float>(sum / static_cast<double>(rows.cols));
}

/// Computes out = projection(x), with the root mean square of the rows of `like`.
void project_like(const LinearLayer& projection, MatrixView<const float> x,
                  MatrixView<const float> like, MatrixView<float> out, const Compute& compute) {
  constexpr float kLeast = 1e-5F;
  apply(projection, x, {}, out, compute);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    const float wanted = std::sqrt(mean_square(like, row));
    const float found = std::sqrt(std::max(mean_square(out, row), kLeast));
    for (std::int64_t col = 0; col < out.cols; ++col) out(row, col) *= wanted / found;
  }
}

}  // namespace

void AltUpStreams::start(const AltUpSpec& spec, std::span<const SharedLinear> projections,
                         MatrixView<float> active, const Compute& compute) {
  active_ = spec.active;
  streams_.clear();
  const Matrix<float> embedding = copied(active);
  streams_.push_back(copied(active));
  for (const SharedLinear& projection : projections) {
    Matrix<float>& own = streams_.emplace_back(active.rows, active.cols);
    project_like(*projection, embedding.view(), embedding.view(), own.view(), compute);
  }
  copy_into(active, streams_[static_cast<std::size_t>(active_)].view());
}

MatrixView<float> AltUpStreams::modalities(const AltUpWeights& weights,
                                           MatrixView<const float> active, const Compute& compute) {
  const MatrixView<float> normed = sized(normed_, active.rows, active.cols);
  apply_norm(weights.router_norm, active, normed, compute);
  const MatrixView<float> out = sized(modalities_, active.rows, weights.router->weights.outputs());
  apply(*weights.router, normed, {.activation = Activation::tanh}, out, compute);
  return out;
}

void AltUpStreams::predict(const AltUpWeights& weights, MatrixView<float> active,
                           const Compute& compute) {
  const auto streams = std::ssize(streams_);
  const MatrixView<float> chosen = modalities(weights, active, compute);
  const MatrixView<float> coefficients = sized(coefficients_, active.rows, streams * streams);
  apply(*weights.predict, chosen, {}, coefficients, compute);
  copy_into(streams_[static_cast<std::size_t>(active_)].view(), active);
  std::vector<float> before(streams_.size());
  for (std::int64_t row = 0; row < active.rows; ++row) {
    for (std::int64_t col = 0; col < active.cols; ++col) {
      for (std::size_t at = 0; at < before.size(); ++at) before[at] = streams_[at](row, col);
      for (std::size_t to = 0; to < before.size(); ++to) {
        float change = 0;
        for (std::size_t from = 0; from < before.size(); ++from) {
          change += before[from] *
                    coefficients(row, static_cast<std::int64_t>(to * before.size() + from));
        }
        streams_[to](row, col) = change + before[to];
      }
    }
  }
  copy_into(active, streams_[static_cast<std::size_t>(active_)].view());
}

void AltUpStreams::correct(const AltUpWeights& weights, MatrixView<float> active,
                           const Compute& compute) {
  const auto streams = std::ssize(streams_);
  const MatrixView<float> chosen = modalities(weights, active, compute);
  const MatrixView<float> coefficients = sized(coefficients_, active.rows, streams);
  apply(*weights.correct, chosen, {}, coefficients, compute);
  const Matrix<float>& predicted = streams_[static_cast<std::size_t>(active_)];
  for (std::int64_t row = 0; row < active.rows; ++row) {
    for (std::int64_t col = 0; col < active.cols; ++col) {
      const float of_active = predicted(row, col), innovation = active(row, col) - of_active;
      for (std::int64_t number = 0; number < streams; ++number) {
        float& to = number == active_ ? active(row, col)
                                      : streams_[static_cast<std::size_t>(number)](row, col);
        const float prediction = number == active_ ? of_active : to;
        to = innovation * (coefficients(row, number) + 1) + prediction;
      }
    }
  }
}

MatrixView<const float> AltUpStreams::scaled(const AltUpWeights& weights,
                                             MatrixView<const float> active) {
  if (weights.active_scale.empty()) return active;
  const MatrixView<float> out = sized(normed_, active.rows, active.cols);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) {
      out(row, col) = active(row, col) * weights.active_scale[static_cast<std::size_t>(col)];
    }
  }
  return out;
}

void AltUpStreams::add(MatrixView<const float> term, MatrixView<float> active) {
  for (std::int64_t number = 1; number < std::ssize(streams_); ++number) {
    const MatrixView<float> to = stream(number, active);
    for (std::int64_t row = 0; row < to.rows; ++row) {
      for (std::int64_t col = 0; col < to.cols; ++col) to(row, col) += term(row, col);
    }
  }
}

void AltUpStreams::merge(std::span<const SharedLinear> projections, MatrixView<float> active,
                         const Compute& compute) {
  const Matrix<float> first = copied(stream(0, active));
  Matrix<float> sum = copied(first.view());
  const MatrixView<float> projected = sized(normed_, active.rows, active.cols);
  for (std::size_t at = 0; at < projections.size(); ++at) {
    project_like(*projections[at], stream(static_cast<std::int64_t>(at) + 1, active), first.view(),
                 projected, compute);
    for (std::int64_t row = 0; row < active.rows; ++row) {
      for (std::int64_t col = 0; col < active.cols; ++col) sum(row, col) += projected(row, col);
    }
  }
  const float share = 1 / static_cast<float>(streams_.size());
  for (std::int64_t row = 0; row < active.rows; ++row) {
    for (std::int64_t col = 0; col < active.cols; ++col) active(row, col) = sum(row, col) * share;
  }
}

void add_laurel(const LaurelWeights& weights, MatrixView<const float> input,
                MatrixView<float> stream, const Compute& compute) {
  Matrix<float> narrow(stream.rows, weights.left->weights.outputs());
  Matrix<float> term(stream.rows, stream.cols);
  apply(*weights.left, input, {}, narrow.view(), compute);
  apply(*weights.right, narrow.view(), {}, term.view(), compute);
  apply_norm(weights.norm, term.view(), term.view(), compute);
  constexpr float kShare = 1 / std::numbers::sqrt2_v<float>;
  for (std::int64_t row = 0; row < stream.rows; ++row) {
    for (std::int64_t col = 0; col < stream.cols; ++col) {
      stream(row, col) = (stream(row, col) + (input(row, col) + term(row, col))) * kShare;
    }
  }
}

void cut_gates(double cutoff, MatrixView<float> gates) {
  const auto count = static_cast<double>(gates.cols);
  for (std::int64_t row = 0; row < gates.rows; ++row) {
    double sum = 0, squares = 0;
    for (std::int64_t col = 0; col < gates.cols; ++col) sum += static_cast<double>(gates(row, col));
    const double mean = sum / count;
    for (std::int64_t col = 0; col < gates.cols; ++col) {
      const double off = static_cast<double>(gates(row, col)) - mean;
      squares += off * off;
    }
    const auto least = static_cast<float>(mean + std::sqrt(squares / count) * cutoff);
    for (std::int64_t col = 0; col < gates.cols; ++col) {
      gates(row, col) = std::max(gates(row, col) - least, 0.0F);
    }
  }
}

}  // namespace attnscope
