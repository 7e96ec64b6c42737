#include "attnscope/features/predict/logit_attribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/features/common/message_roles.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/forward/hooks.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/scored_positions.h"

namespace attnscope {
namespace {

/// Throws Error(unsupported) for an edit after which the logits are not a sum of the components.
void check_attributed(std::span<const ActivationEdit> edits) {
  using enum HookPoint;
  constexpr std::array kOfNoComponent = {resid_pre, resid_mid, resid_post, result,
                                         attn_out,  mlp_out,   final_norm};
  for (const ActivationEdit& edit : edits) {
    if (std::ranges::find(kOfNoComponent, edit.point) == kOfNoComponent.end()) continue;
    throw Error(
        ErrorKind::unsupported,
        {.parameter = "edits",
         .problem = edit.where + " changes the residual stream, so the logits are not a sum of "
                                 "component outputs",
         .hint = "with {attribution}, edit what a component computes, such as z, pattern "
                 "or mlp_post"});
  }
}

/// Shows the inputs of output projections after their edits.
class HeadsHooks : public ForwardHooks {
 public:
  using Show = std::function<void(std::int64_t layer, MatrixView<const float> heads)>;

  explicit HeadsHooks(Show show) : show_(std::move(show)) {}

  bool wants(HookPoint point, std::int64_t /*layer*/) const override {
    return point == HookPoint::z;
  }
  bool changes(HookPoint /*point*/, std::int64_t /*layer*/) const override { return false; }
  void visit(const HookedValues& values) override { show_(values.layer, values.values); }

 private:
  Show show_;
};

/// Computes the products of each selected row with its direction, before division by the scale.
class AttributionRun {
 public:
  AttributionRun(const ForwardPass& pass, const LinearHead& head,
                 std::span<const std::int64_t> rows, const Matrix<float>& directions,
                 std::span<BatchWatcher* const> watchers, const Compute& compute)
      : pass_(pass),
        head_(head),
        rows_(rows),
        directions_(directions),
        watchers_(watchers),
        compute_(compute) {}

  Attribution run(const TokenIds& ids, std::span<const double> constants) {
    ForwardObserver observer;
    roles_ = role_indices(ids.roles);
    const bool knows_roles =
        std::ranges::any_of(ids.roles, [](const std::string& role) { return !role.empty(); });
    if (knows_roles && shows_values(pass_)) {
      observer.on_values = [&](std::int64_t /*layer*/, MatrixView<const float> values) {
        values_ = copied(values);
      };
      observer.on_maps = [&](const LayerMaps& maps) { keep_weights(maps); };
    }
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (index == 0) add_embedding(ids, stream);
      if (index == pass_.model().dimensions().layers) {
        scales_ = head_.scales(picked_rows(stream, rows_).view());
      }
    };
    HeadsHooks heads(
        [&](std::int64_t layer, MatrixView<const float> values) { add_heads(layer, values); });
    RunEdits edits(pass_, watchers_, compute_, &heads, std::ssize(ids));
    check_attributed(edits.edits());
    observer.hooks = edits.hooks();
    observer.on_mlp = [&](std::int64_t layer, MatrixView<float> output) {
      const Matrix<float> met = through_norm(weights_of(layer).mlp_output,
                                             picked_rows(output, rows_).view(), directions_.view());
      add("mlp", layer, products(output, met, factor_of(layer)));
    };
    const Matrix<float> states = pass_.run(std::span(&ids, 1), observer, compute_);
    out_.states = picked_rows(states.view(), rows_);
    for (DirectPart& part : out_.parts) {
      for (std::size_t at = 0; at < scales_.size(); ++at) {
        part.logits[at] /= scales_[at];
        for (std::vector<double>& of_role : part.of_roles) of_role[at] /= scales_[at];
      }
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
           std::vector<double> logits, std::optional<std::int64_t> head = {},
           std::vector<std::vector<double>> of_roles = {}) {
    out_.parts.push_back({.component = component,
                          .layer = layer,
                          .head = head,
                          .logits = std::move(logits),
                          .of_roles = std::move(of_roles)});
  }

  /// Keeps the attention weights of the selected rows: (heads × rows, keys).
  void keep_weights(const LayerMaps& maps) {
    weights_ = Matrix<float>(maps.heads * std::ssize(rows_), maps.map(0, 0).cols);
    std::int64_t row = 0;
    for (std::int64_t head = 0; head < maps.heads; ++head) {
      for (const std::int64_t query : rows_) {
        std::copy_n(&maps.map(0, head)(query, 0), weights_.cols(), &weights_(row++, 0));
      }
    }
  }

  /// Splits what a head adds to `logits` by the roles of the tokens that it reads. Empty if the sum
  /// is not `logits`, such as after a gate or an edit of the head's output.
  std::vector<std::vector<double>> split_by_role(std::int64_t head, const HeadShape& shape,
                                                 MatrixView<const float> through,
                                                 std::span<const double> logits) const {
    if (weights_.rows() == 0 || values_.rows() == 0) return {};
    std::vector<std::vector<double>> out(kMessageRoles.size(), std::vector<double>(rows_.size()));
    const std::int64_t first = head * shape.value_dim;
    const std::int64_t of_values = shape.kv_head(head) * shape.value_dim;
    for (std::int64_t at = 0; at < std::ssize(rows_); ++at) {
      double all = 0, size = 0;
      for (std::int64_t key = 0; key < weights_.cols(); ++key) {
        const auto weight = static_cast<double>(weights_(head * std::ssize(rows_) + at, key));
        if (weight == 0) continue;
        const double part =
            weight * row_product(&values_(key, of_values), &through(at, first), shape.value_dim);
        all += part;
        size += std::abs(part);
        const std::int64_t role = roles_[static_cast<std::size_t>(key)];
        if (role >= 0) out[static_cast<std::size_t>(role)][static_cast<std::size_t>(at)] += part;
      }
      constexpr double kRounding = 1e-4;  // of float32 sums of values
      if (std::abs(all - logits[static_cast<std::size_t>(at)]) > kRounding * size) return {};
    }
    return out;
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
      std::vector<std::vector<double>> of_roles =
          split_by_role(head, shape, through.view(), logits);
      add("head", layer, std::move(logits), head, std::move(of_roles));
    }
    weights_ = {};
    values_ = {};
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
  std::span<BatchWatcher* const> watchers_;
  const Compute& compute_;
  std::vector<double> scales_;
  std::vector<std::int64_t> roles_;  // of a chat's tokens, as indices in kMessageRoles
  Matrix<float> weights_, values_;   // of the current layer, see keep_weights() and on_values
  Attribution out_;
};

}  // namespace

Attribution attribute(const ForwardPass& pass, const LinearHead& head, const TokenIds& ids,
                      std::span<const std::int64_t> rows, const Matrix<float>& directions,
                      std::span<const double> constants, std::span<BatchWatcher* const> watchers,
                      const Compute& compute) {
  return AttributionRun(pass, head, rows, directions, watchers, compute).run(ids, constants);
}

}  // namespace attnscope
