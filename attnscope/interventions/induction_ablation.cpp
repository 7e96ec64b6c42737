#include "attnscope/interventions/induction_ablation.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/interventions/ablation.h"
#include "attnscope/interventions/patched_parts.h"

namespace attnscope {
namespace {

/// Returns the mean attention from the second half's queries to the key after the first occurrence
/// of their token. Duplicates induction_score(), which belongs to a module that this one does not
/// depend on.
double induction_of(MatrixView<const float> map, std::int64_t block) {
  double sum = 0;
  for (std::int64_t query = block; query < 2 * block; ++query) {
    sum += static_cast<double>(map(query, query - block + 1));
  }
  return sum / static_cast<double>(block);
}

double mean_induction(const LayerMaps& maps, std::int64_t head, std::int64_t sequences,
                      std::int64_t block) {
  double sum = 0;
  for (std::int64_t sequence = 0; sequence < sequences; ++sequence) {
    sum += induction_of(maps.map(sequence, head), block);
  }
  return sum / static_cast<double>(sequences);
}

/// Returns ‖a − b‖ / ‖b‖, or 0 if b is zero.
double relative_change(const Matrix<float>& a, const Matrix<float>& b) {
  double moved = 0, all = 0;
  for (std::int64_t at = 0; at < a.rows() * a.cols(); ++at) {
    const auto own = static_cast<double>(b.data()[at]);
    const double off = static_cast<double>(a.data()[at]) - own;
    moved += off * off;
    all += own * own;
  }
  return all == 0 ? 0 : std::sqrt(moved / all);
}

/// Also shows the attention maps of one layer.
class MapHooks : public ActivationHooks {
 public:
  MapHooks(std::int64_t layer, Wants wants, Visit visit,
           std::function<void(const HookedValues&)> show)
      : ActivationHooks(std::move(wants), std::move(visit)),
        layer_(layer),
        show_(std::move(show)) {}

  bool wants(HookPoint point, std::int64_t layer) const override {
    return point == HookPoint::pattern ? layer == layer_ : ActivationHooks::wants(point, layer);
  }
  bool changes(HookPoint point, std::int64_t layer) const override {
    return point != HookPoint::pattern && wants(point, layer);
  }
  void visit(const HookedValues& values) override {
    if (values.point == HookPoint::pattern) {
      show_(values);
    } else {
      ActivationHooks::visit(values);
    }
  }

 private:
  std::int64_t layer_;
  std::function<void(const HookedValues&)> show_;
};

PatchedPart input_of_head(const HeadShape& shape, std::int64_t head, Role role) {
  if (role == Role::query) return {.kind = PatchedKind::q, .head = head};
  const PatchedKind kind = role == Role::key ? PatchedKind::k : PatchedKind::v;
  return {.kind = kind, .head = shape.kv_head(head)};
}

class InductionRun {
 public:
  InductionRun(const ForwardPass& pass, const RepeatedText& text, const Compute& compute)
      : pass_(pass),
        text_(text),
        compute_(compute),
        sequences_(std::ssize(text.sequences)),
        length_(2 * text.block) {}

  LayerInduction of_layer(std::int64_t layer) {
    keep(layer, layer);
    LayerInduction out{.predicted = text_.block - 1};
    out.loss = run_with(layer, heads_.at(0), out.later);
    const std::vector<float> means = column_means(heads_.at(0));
    const HeadShape& shape = pass_.model().spec().dimensions_of(layer).heads;
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      Matrix<float> changed = copied(std::as_const(heads_.at(0)).view());
      const std::int64_t first = head * shape.value_dim;
      for (std::int64_t row = 0; row < changed.rows(); ++row) {
        std::copy_n(means.data() + first, shape.value_dim, &changed(row, first));
      }
      InductionEffect& effect = out.effects.emplace_back();
      effect.head = head;
      effect.loss = run_with(layer, changed, effect.later);
    }
    return out;
  }

  PathsInto into(std::int64_t layer, std::int64_t head, std::span<const Role> inputs) {
    check_paths_to(layer);
    keep(0, layer);
    PathsInto out;
    const MatrixView<const float> clean = std::as_const(stream_).view();
    const LaterHead as_it_is = later_head(layer, head, clean, nullptr, {});
    out.induction = as_it_is.induction;
    for (std::int64_t earlier = 0; earlier < layer; ++earlier) {
      if (!attends(earlier)) continue;
      const std::int64_t count = pass_.model().spec().dimensions_of(earlier).heads.heads;
      for (std::int64_t from = 0; from < count; ++from) {
        const Matrix<float> without = stream_without(earlier, from);
        const LayerActivations changed =
            project(layer, head, inputs, std::as_const(without).view());
        for (const Role role : inputs) {
          const PatchedColumns columns = input_columns(layer, head, role);
          const LaterHead found = later_head(layer, head, clean, &changed, columns);
          out.effects.push_back({.layer = earlier,
                                 .head = from,
                                 .into = role,
                                 .induction = found.induction,
                                 .write_change = relative_change(found.given, as_it_is.given)});
        }
      }
    }
    return out;
  }

 private:
  bool attends(std::int64_t layer) const {
    return pass_.weights().layers[static_cast<std::size_t>(layer)].output != nullptr;
  }

  void check_paths_to(std::int64_t layer) const {
    const auto refuse = [&](const std::string& problem) {
      throw Error(ErrorKind::unsupported,
                  {.parameter = "receiver", .problem = pass_.model().name() + ": " + problem});
    };
    const std::span layers(pass_.weights().layers);
    const auto norms = [](const LayerWeights& earlier) {
      return earlier.attention_output || earlier.attention_heads || earlier.attention_sum ||
             earlier.mlp_sum;
    };
    if (!pass_.may_start_between() ||
        std::ranges::any_of(layers.first(static_cast<std::size_t>(layer)), norms)) {
      refuse("head outputs do not reach later layers unchanged");
    }
    if (!attends(layer)) {
      refuse("layer " + std::to_string(layer) + " has no queries and keys");
    }
  }

  /// Keeps the head outputs of layers first … last, and the residual stream before layer `last`.
  void keep(std::int64_t first, std::int64_t last) {
    heads_.resize(static_cast<std::size_t>(last - first + 1));
    ForwardObserver observer;
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (index == last) stream_ = copied(stream);
    };
    observer.on_heads = [&](std::int64_t layer, MatrixView<float> heads) {
      if (layer >= first) heads_[static_cast<std::size_t>(layer - first)] = copied(heads);
    };
    observer.end_after_layer = last;
    pass_.run(text_.sequences, observer, compute_);
  }

  /// Returns the loss of the second half of each sequence. `later` receives the scores of all later
  /// heads.
  std::vector<double> run_with(std::int64_t layer, const Matrix<float>& heads,
                               std::vector<HeadInduction>& later) const {
    ForwardObserver observer;
    observer.wants_maps = [&](std::int64_t of) { return of > layer; };
    observer.on_maps = [&](const LayerMaps& maps) {
      for (std::int64_t head = 0; head < maps.heads; ++head) {
        later.push_back({.layer = maps.layer,
                         .head = head,
                         .induction = mean_induction(maps, head, sequences_, text_.block)});
      }
    };
    Matrix<float> states;
    if (pass_.may_start_between()) {
      states = pass_.run_from({.layer = layer, .stream = stream_.view(), .heads = heads.view()},
                              text_.sequences, observer, compute_);
    } else {
      observer.on_heads = [&](std::int64_t of, MatrixView<float> given) {
        if (of == layer) copy_into(given, heads.view());
      };
      states = pass_.run(text_.sequences, observer, compute_);
    }
    std::vector<double> losses;
    for (std::int64_t sequence = 0; sequence < sequences_; ++sequence) {
      const std::int64_t first = sequence * length_ + text_.block, count = text_.block - 1;
      const Matrix<float> logits =
          finite_logits(pass_, std::as_const(states).view().row_block(first, count), compute_);
      const auto next =
          std::span(text_.sequences[static_cast<std::size_t>(sequence)])
              .subspan(static_cast<std::size_t>(text_.block + 1), static_cast<std::size_t>(count));
      double sum = 0;
      for (const double loss : token_losses(logits.view(), next, compute_)) sum += loss;
      losses.push_back(sum);
    }
    return losses;
  }

  /// Returns the residual stream minus a head's output, whose mean is kept.
  Matrix<float> stream_without(std::int64_t layer, std::int64_t head) const {
    const LayerWeights& weights = pass_.weights().layers[static_cast<std::size_t>(layer)];
    const LayerSpec& spec = pass_.model().spec().layers[static_cast<std::size_t>(layer)];
    const Matrix<float>& heads = heads_[static_cast<std::size_t>(layer)];
    const std::vector<float> means = column_means(heads);
    const std::int64_t size = pass_.model().spec().dimensions_of(layer).heads.value_dim;
    Matrix<float> alone(heads.rows(), heads.cols());
    for (std::int64_t row = 0; row < heads.rows(); ++row) {
      std::fill_n(&alone(row, 0), heads.cols(), 0.0F);
      for (std::int64_t col = head * size; col < (head + 1) * size; ++col) {
        alone(row, col) = heads(row, col) - means[static_cast<std::size_t>(col)];
      }
    }
    Matrix<float> written(heads.rows(), stream_.cols());
    apply_linear(std::as_const(alone).view(), weights.output->weights, {}, written.view(),
                 compute_);
    Matrix<float> out = copied(std::as_const(stream_).view());
    const auto factor = static_cast<float>(spec.branch_factor);
    for (std::int64_t at = 0; at < out.rows() * out.cols(); ++at) {
      out.data()[at] -= factor * written.data()[at];
    }
    return out;
  }

  PatchedColumns input_columns(std::int64_t layer, std::int64_t head, Role role) const {
    const HeadShape& shape = pass_.model().spec().dimensions_of(layer).heads;
    return columns_of(pass_, layer, input_of_head(shape, head, role));
  }

  /// Computes inputs of the head for a residual stream.
  LayerActivations project(std::int64_t layer, std::int64_t head, std::span<const Role> inputs,
                           MatrixView<const float> stream) const {
    LayerActivations out{.layer = layer};
    ActivationHooks hooks(
        [&](ActivationMatrix matrix, std::int64_t of) {
          return of == layer && std::ranges::any_of(inputs, [&](Role role) {
                   return input_columns(layer, head, role).matrix == matrix;
                 });
        },
        [&](ActivationMatrix matrix, std::int64_t, MatrixView<float> rows) {
          out.*matrix = copied(rows);
        });
    ForwardObserver observer;
    observer.hooks = &hooks;
    observer.end_after_maps_of = layer;
    pass_.run_from({.layer = layer, .stream = stream}, text_.sequences, observer, compute_);
    return out;
  }

  struct LaterHead {
    double induction = 0;
    Matrix<float> given;  // (rows, d_v), input of the output projection
  };

  /// Runs the head with these columns taken from `changed`. Null: unmodified.
  LaterHead later_head(std::int64_t layer, std::int64_t head, MatrixView<const float> stream,
                       const LayerActivations* changed, const PatchedColumns& columns) const {
    const HeadShape& shape = pass_.model().spec().dimensions_of(layer).heads;
    LaterHead found;
    MapHooks hooks(
        layer,
        [&](ActivationMatrix matrix, std::int64_t of) {
          return of == layer && changed != nullptr && matrix == columns.matrix;
        },
        [&](ActivationMatrix matrix, std::int64_t, MatrixView<float> rows) {
          copy_into(rows.col_block(columns.first, columns.count),
                    (changed->*matrix).view().col_block(columns.first, columns.count));
        },
        [&](const HookedValues& values) {
          for (std::int64_t sequence = 0; sequence < sequences_; ++sequence) {
            const auto at = static_cast<std::size_t>(sequence * shape.heads + head);
            found.induction += induction_of(values.maps[at], text_.block);
          }
          found.induction /= static_cast<double>(sequences_);
        });
    ForwardObserver observer;
    observer.hooks = &hooks;
    observer.wants_parts = [layer](std::int64_t of) { return of == layer; };
    observer.on_heads = [&](std::int64_t, MatrixView<float> heads) {
      found.given = copied(heads.col_block(head * shape.value_dim, shape.value_dim));
    };
    observer.end_after_layer = layer;
    pass_.run_from({.layer = layer, .stream = stream}, text_.sequences, observer, compute_);
    return found;
  }

  const ForwardPass& pass_;
  const RepeatedText& text_;
  const Compute& compute_;
  std::int64_t sequences_, length_;
  Matrix<float> stream_;
  std::vector<Matrix<float>> heads_;
};

}  // namespace

LayerInduction ablate_for_induction(const ForwardPass& pass, const RepeatedText& text,
                                    std::int64_t layer, const Compute& compute) {
  return InductionRun(pass, text, compute).of_layer(layer);
}

PathsInto ablate_paths_into(const ForwardPass& pass, const RepeatedText& text, std::int64_t layer,
                            std::int64_t head, std::span<const Role> inputs,
                            const Compute& compute) {
  return InductionRun(pass, text, compute).into(layer, head, inputs);
}

}  // namespace attnscope
