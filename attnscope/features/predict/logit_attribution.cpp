#include "attnscope/features/predict/logit_attribution.h"

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/scored_positions.h"

namespace attnscope {
namespace {

/// Computes the products of each selected row with its direction, before division by the scale.
class AttributionRun {
 public:
  AttributionRun(const ForwardPass& pass, const LinearHead& head,
                 std::span<const std::int64_t> rows, const Matrix<float>& directions,
                 const Compute& compute)
      : pass_(pass), head_(head), rows_(rows), directions_(directions), compute_(compute) {}

  Attribution run(const TokenIds& ids, std::span<const double> constants) {
    ForwardObserver observer;
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (index == 0) add_embedding(ids, stream);
      if (index == pass_.model().dimensions().layers) {
        scales_ = head_.scales(picked_rows(stream, rows_).view());
      }
    };
    observer.on_heads = [&](std::int64_t layer, MatrixView<float> heads) {
      add_heads(layer, heads);
    };
    observer.on_mlp = [&](std::int64_t layer, MatrixView<float> output) {
      const Matrix<float> met = through_norm(weights_of(layer).mlp_output,
                                             picked_rows(output, rows_).view(), directions_.view());
      add("mlp", layer, products(output, met, factor_of(layer)));
    };
    const Matrix<float> states = pass_.run(std::span(&ids, 1), observer, compute_);
    out_.states = picked_rows(states.view(), rows_);
    for (DirectPart& part : out_.parts) {
      for (std::size_t at = 0; at < scales_.size(); ++at) part.logits[at] /= scales_[at];
    }
    out_.parts.push_back(
        {.component = "norm_bias", .logits = {constants.begin(), constants.end()}});
    return std::move(out_);
  }

 private:
  double factor_of(std::int64_t layer) const {
    return pass_.model().spec().layers[static_cast<std::size_t>(layer)].branch_factor;
  }

  const LayerWeights& weights_of(std::int64_t layer) const {
    return pass_.weights().layers[static_cast<std::size_t>(layer)];
  }

  void add(std::string_view component, std::optional<std::int64_t> layer,
           std::vector<double> logits, std::optional<std::int64_t> head = {}) {
    out_.parts.push_back(
        {.component = component, .layer = layer, .head = head, .logits = std::move(logits)});
  }

  std::vector<double> products(MatrixView<const float> written, const Matrix<float>& directions,
                               double factor) const {
    std::vector<double> out;
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      out.push_back(factor * row_product(&written(rows_[at], 0),
                                         &directions(static_cast<std::int64_t>(at), 0),
                                         written.cols));
    }
    return out;
  }

  /// Splits the embedding into tokens and positions if the residual stream starts as their sum.
  void add_embedding(const TokenIds& ids, MatrixView<const float> stream) {
    std::vector<double> all = products(stream, directions_, 1);
    const ForwardWeights& weights = pass_.weights();
    const StreamSpec& spec = pass_.model().spec().stream;
    const bool is_sum = weights.positions.tensor != nullptr && weights.projection == nullptr &&
                        !weights.embedding_norm && !spec.dropped_token;
    if (!is_sum) return add("embedding", {}, std::move(all));
    std::vector<float> row(static_cast<std::size_t>(stream.cols));
    std::vector<double> tokens;
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      weights.tokens.read(ids[static_cast<std::size_t>(rows_[at])], row);
      tokens.push_back(
          spec.embedding_factor *
          row_product(row.data(), &directions_(static_cast<std::int64_t>(at), 0), stream.cols));
      all[at] -= tokens.back();
    }
    add("embedding", {}, std::move(tokens));
    add("positions", {}, std::move(all));
  }

  void add_heads(std::int64_t layer, MatrixView<const float> heads) {
    const LayerWeights& weights = weights_of(layer);
    Matrix<float> given;  // output of attention, needed for the norm after it
    if (weights.attention_output) {
      given = Matrix<float>(std::ssize(rows_), directions_.cols());
      apply(*weights.output, picked_rows(heads, rows_).view(), {}, given.view(), compute_);
    }
    const Matrix<float> met =
        through_norm(weights.attention_output, given.view(), directions_.view());
    const Matrix<float> through = head_.through_output(layer, met.view(), compute_);
    const HeadShape& shape = pass_.model().spec().dimensions_of(layer).heads;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      std::vector<double> logits;
      const std::int64_t first = head * shape.value_dim;
      for (std::size_t at = 0; at < rows_.size(); ++at) {
        logits.push_back(row_product(&heads(rows_[at], first),
                                     &through(static_cast<std::int64_t>(at), first),
                                     shape.value_dim));
      }
      add("head", layer, std::move(logits), head);
    }
    const std::vector<float>& bias = weights.output->bias;
    if (bias.empty()) return;
    std::vector<double> logits;
    for (std::int64_t at = 0; at < met.rows(); ++at) {
      logits.push_back(factor_of(layer) * row_product(bias.data(), &met(at, 0), met.cols()));
    }
    add("output_bias", layer, std::move(logits));
  }

  const ForwardPass& pass_;
  const LinearHead& head_;
  std::span<const std::int64_t> rows_;
  const Matrix<float>& directions_;
  const Compute& compute_;
  std::vector<double> scales_;
  Attribution out_;
};

}  // namespace

Attribution attribute(const ForwardPass& pass, const LinearHead& head, const TokenIds& ids,
                      std::span<const std::int64_t> rows, const Matrix<float>& directions,
                      std::span<const double> constants, const Compute& compute) {
  return AttributionRun(pass, head, rows, directions, compute).run(ids, constants);
}

}  // namespace attnscope
