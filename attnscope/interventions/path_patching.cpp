#include "attnscope/interventions/path_patching.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {
namespace {

/// Activations of all layers on some prompts.
struct AllActivations {
  std::vector<LayerActivations> layers;
  Matrix<float> last_stream, states;
};

/// Makes the observer keep the activations of each layer from `first` on.
void keep_all(AllActivations& kept, std::int64_t first, std::int64_t layers,
              ForwardObserver& observer) {
  kept.layers.resize(static_cast<std::size_t>(layers));
  const auto put = [&kept](ActivationMatrix matrix) {
    return [&kept, matrix](std::int64_t layer, MatrixView<float> rows) {
      kept.layers[static_cast<std::size_t>(layer)].*matrix = copied(rows);
    };
  };
  observer.wants_stream = observer.wants_parts = [first](std::int64_t of) { return of >= first; };
  observer.on_stream = [&kept, layers](std::int64_t index, MatrixView<const float> rows) {
    if (index == layers) {
      kept.last_stream = copied(rows);
    } else {
      kept.layers[static_cast<std::size_t>(index)].stream = copied(rows);
    }
  };
  observer.on_heads = put(&LayerActivations::heads);
  observer.on_mixer = put(&LayerActivations::mixer);
  observer.on_mlp = put(&LayerActivations::mlp);
}

/// Computes out = norm(changed) with the scale of the norm of `base`.
void norm_with_scale_of(const NormWeights& norm, MatrixView<const float> base,
                        MatrixView<const float> changed, MatrixView<float> out) {
  const bool centers = norm.spec.kind == NormKind::layer;
  const auto mean_of_row = [&](MatrixView<const float> rows, std::int64_t row) {
    double sum = 0;
    for (std::int64_t col = 0; col < rows.cols; ++col) sum += static_cast<double>(rows(row, col));
    return centers ? sum / static_cast<double>(rows.cols) : 0.0;
  };
  for (std::int64_t row = 0; row < base.rows; ++row) {
    const double base_mean = mean_of_row(base, row), mean = mean_of_row(changed, row);
    double squares = 0;
    for (std::int64_t col = 0; col < base.cols; ++col) {
      const double centered = static_cast<double>(base(row, col)) - base_mean;
      squares += centered * centered;
    }
    const double scale = 1 / std::sqrt(squares / static_cast<double>(base.cols) +
                                       static_cast<double>(norm.spec.epsilon));
    for (std::int64_t col = 0; col < base.cols; ++col) {
      const auto at = static_cast<std::size_t>(col);
      const double gain =
          norm.gain.empty() ? 1.0 : static_cast<double>(norm.gain[at]) + norm.spec.gain_offset;
      const double bias = norm.bias.empty() ? 0.0 : static_cast<double>(norm.bias[at]);
      out(row, col) =
          static_cast<float>((static_cast<double>(changed(row, col)) - mean) * scale * gain + bias);
    }
  }
}

/// Runs the paths of some prompts in one direction.
class PathRuns {
 public:
  PathRuns(const ForwardPass& pass, const PathRequest& request, std::span<const TokenIds> texts,
           const AllActivations& base, const AllActivations& source, const Compute& compute)
      : pass_(pass),
        request_(request),
        texts_(texts),
        base_(base),
        source_(source),
        compute_(compute),
        layers_(pass.model().dimensions().layers) {
    first_ = layers_;
    for (const HeadIndex& sender : request.senders) first_ = std::min(first_, sender.layer);
    run_frozen();
  }

  /// Returns the last states when the logits receive the path.
  Matrix<float> to_logits() const {
    if (!request_.freeze_norms || !pass_.weights().last_norm) return copied(frozen_states_.view());
    Matrix<float> out(frozen_stream_.rows(), frozen_stream_.cols());
    norm_with_scale_of(*pass_.weights().last_norm, base_.last_stream.view(), frozen_stream_.view(),
                       out.view());
    return out;
  }

  /// Returns the last states of several targets, one after the other. All have receivers, of which
  /// the first layer is `layer`.
  Matrix<float> to_receivers(std::span<const PathTarget* const> targets, std::int64_t layer) const {
    const auto copies = std::ssize(targets);
    std::vector<TokenIds> inputs;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      inputs.insert(inputs.end(), texts_.begin(), texts_.end());
    }
    const auto columns = [&](const PathReceiver& receiver) {
      return columns_of(pass_, receiver.layer, {.kind = receiver.input, .head = receiver.head});
    };
    ActivationHooks hooks(
        [&](ActivationMatrix matrix, std::int64_t of) {
          return std::ranges::any_of(targets, [&](const PathTarget* target) {
            return std::ranges::any_of(*target, [&](const PathReceiver& receiver) {
              return receiver.layer == of && columns(receiver).matrix == matrix;
            });
          });
        },
        [&](ActivationMatrix matrix, std::int64_t of, MatrixView<float> all) {
          const std::int64_t rows = all.rows / copies;
          for (std::int64_t copy = 0; copy < copies; ++copy) {
            for (const PathReceiver& receiver : *targets[static_cast<std::size_t>(copy)]) {
              const PatchedColumns own = columns(receiver);
              if (receiver.layer != of || own.matrix != matrix) continue;
              copy_into(all.block(copy * rows, rows, own.first, own.count),
                        (inputs_.at(of).*matrix).view().col_block(own.first, own.count));
            }
          }
        });
    ForwardObserver observer;
    observer.hooks = &hooks;
    return run_from(layer, copies, inputs, observer);
  }

 private:
  /// Runs copies of the base run from a layer on, or from the embedding.
  Matrix<float> run_from(std::int64_t layer, std::int64_t copies, std::span<const TokenIds> inputs,
                         const ForwardObserver& observer) const {
    if (!pass_.may_start_between()) return pass_.run(inputs, observer, compute_);
    const Matrix<float>& one = base_.layers[static_cast<std::size_t>(layer)].stream;
    Matrix<float> stream(copies * one.rows(), one.cols());
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      copy_into(stream.view().row_block(copy * one.rows(), one.rows()), one.view());
    }
    return pass_.run_from({.layer = layer, .stream = stream.view()}, inputs, observer, compute_);
  }

  /// Whether an input of the layer is a receiver. Null: any input.
  bool receives(std::int64_t layer, ActivationMatrix matrix = nullptr) const {
    const auto receives = [&](const PathReceiver& receiver) {
      if (receiver.layer != layer) return false;
      return matrix == nullptr ||
             columns_of(pass_, layer, {.kind = receiver.input}).matrix == matrix;
    };
    return std::ranges::any_of(request_.targets, [&](const PathTarget& target) {
      return std::ranges::any_of(target, receives);
    });
  }

  /// The run with the senders' outputs of the other run and all other outputs frozen.
  void run_frozen() {
    const auto base_of = [&](std::int64_t layer) -> const LayerActivations& {
      return base_.layers[static_cast<std::size_t>(layer)];
    };
    ForwardObserver observer;
    observer.wants_parts = [&](std::int64_t layer) { return layer >= first_; };
    observer.on_heads = [&](std::int64_t layer, MatrixView<float> heads) {
      copy_into(heads, base_of(layer).heads.view());
      for (const HeadIndex& sender : request_.senders) {
        if (sender.layer != layer) continue;
        const PatchedColumns columns =
            columns_of(pass_, layer, {.kind = PatchedKind::head, .head = sender.head});
        const Matrix<float>& other = source_.layers[static_cast<std::size_t>(layer)].heads;
        copy_into(heads.col_block(columns.first, columns.count),
                  other.view().col_block(columns.first, columns.count));
      }
    };
    observer.on_mixer = [&](std::int64_t layer, MatrixView<float> rows) {
      copy_into(rows, base_of(layer).mixer.view());
    };
    // With this callback, recomputed outputs are rounded as in the base run, too.
    observer.on_mlp = [&](std::int64_t layer, MatrixView<float> rows) {
      if (!request_.through_mlps) copy_into(rows, base_of(layer).mlp.view());
    };
    ActivationHooks hooks(
        [&](ActivationMatrix matrix, std::int64_t layer) {
          return !request_.freeze_norms && receives(layer, matrix);
        },
        [&](ActivationMatrix matrix, std::int64_t layer, MatrixView<float> rows) {
          inputs_[layer].*matrix = copied(rows);
        });
    observer.hooks = &hooks;
    observer.wants_stream = [&](std::int64_t index) {
      return request_.freeze_norms && (index == layers_ || receives(index));
    };
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> rows) {
      if (index == layers_) {
        frozen_stream_ = copied(rows);
      } else {
        inputs_[index] = projected(index, rows);
      }
    };
    frozen_states_ = run_from(first_, 1, texts_, observer);
  }

  /// Queries, keys and values of a layer for a stream, with the scale of its norm in the base run.
  LayerActivations projected(std::int64_t layer, MatrixView<const float> stream) const {
    const LayerWeights& weights = pass_.weights().layers[static_cast<std::size_t>(layer)];
    const LayerSpec& spec = pass_.model().spec().layers[static_cast<std::size_t>(layer)];
    Matrix<float> input = copied(stream);
    if (weights.attention_input) {
      norm_with_scale_of(*weights.attention_input,
                         base_.layers[static_cast<std::size_t>(layer)].stream.view(), stream,
                         input.view());
    }
    const auto factor = static_cast<float>(spec.attention_input_factor);
    for (std::int64_t at = 0; at < input.rows() * input.cols(); ++at) input.data()[at] *= factor;
    Matrix<float> out(stream.rows, weights.qkv->weights.outputs());
    apply(*weights.qkv, input.view(), {}, out.view(), compute_);
    const HeadShape& heads = pass_.model().spec().dimensions_of(layer).heads;
    const std::int64_t queries = heads.total_dim(Role::query), keys = heads.total_dim(Role::key);
    LayerActivations found{.layer = layer};
    found.q = copied(out.view().col_block(0, queries));
    if (out.cols() > queries) {  // it has keys and values of its own
      found.k = copied(out.view().col_block(queries, keys));
      found.v = copied(out.view().col_block(queries + keys, heads.total_dim(Role::value)));
    }
    return found;
  }

  const ForwardPass& pass_;
  const PathRequest& request_;
  std::span<const TokenIds> texts_;
  const AllActivations& base_;
  const AllActivations& source_;
  const Compute& compute_;
  std::int64_t layers_, first_ = 0;
  std::map<std::int64_t, LayerActivations> inputs_;  // of the receivers, by layer
  Matrix<float> frozen_stream_, frozen_states_;
};

/// Layer of the first receiver.
std::int64_t first_layer(const PathTarget& target) {
  return std::ranges::min(target, {}, &PathReceiver::layer).layer;
}

/// Prompts that run together.
struct PathChunk {
  std::size_t first = 0, count = 0;
  std::int64_t rows = 0;
};

std::vector<PathChunk> path_chunks(const std::vector<TokenIds>& texts, std::int64_t most) {
  std::vector<PathChunk> out;
  for (std::size_t at = 0; at < texts.size(); ++at) {
    const std::int64_t tokens = std::ssize(texts[at]);
    if (out.empty() || out.back().rows + tokens > most) out.push_back({.first = at});
    out.back().rows += tokens;
    ++out.back().count;
  }
  return out;
}

/// Calls put(target, its last states) for every target. `together`: targets of one run.
void run_targets(const PathRuns& runs, const std::vector<PathTarget>& targets, std::size_t together,
                 std::int64_t rows,
                 const std::function<void(std::size_t, MatrixView<const float>)>& put) {
  std::map<std::int64_t, std::vector<std::size_t>> by_layer;
  for (std::size_t at = 0; at < targets.size(); ++at) {
    if (targets[at].empty()) {
      put(at, runs.to_logits().view());
    } else {
      by_layer[first_layer(targets[at])].push_back(at);
    }
  }
  for (const auto& [layer, all] : by_layer) {
    for (std::size_t first = 0; first < all.size(); first += together) {
      const std::size_t count = std::min(together, all.size() - first);
      std::vector<const PathTarget*> some;
      for (std::size_t at = 0; at < count; ++at) some.push_back(&targets[all[first + at]]);
      const Matrix<float> states = runs.to_receivers(some, layer);
      for (std::size_t at = 0; at < count; ++at) {
        put(all[first + at], states.view().row_block(static_cast<std::int64_t>(at) * rows, rows));
      }
    }
  }
}

}  // namespace

void check_frozen_norms(const ForwardPass& pass) {
  const auto refuse = [&](const std::string& problem) {
    throw Error(
        ErrorKind::unsupported,
        {.parameter = "freeze_norms", .problem = verbatim(pass.model().name()) + ": " + problem});
  };
  const ModelSpec& spec = pass.model().spec();
  if (spec.stream.altup) refuse("several residual streams have no single norm to freeze");
  for (std::size_t layer = 0; layer < pass.weights().layers.size(); ++layer) {
    const LayerWeights& weights = pass.weights().layers[layer];
    if (weights.output == nullptr) continue;
    if (weights.qkv == nullptr || weights.mla || weights.block || weights.input ||
        spec.layers[layer].norms_replace_stream || spec.layers[layer].rounds_inputs) {
      refuse("layer " + std::to_string(layer) +
             " has no single norm and projection before its queries, keys and values");
    }
  }
  if (pass.weights().last_projection != nullptr) {
    refuse("a projection follows the final norm");
  }
}

PathPatch patch_paths(const ForwardPass& pass, const AnsweredPrompts& prompts,
                      const PathRequest& request, const Compute& compute) {
  const std::size_t count = prompts.clean.size();
  PathPatch out;
  out.effects.resize(request.targets.size());
  for (PositionPatchEffect& effect : out.effects) {
    if (request.directions.denoising) effect.denoised.resize(count);
    if (request.directions.noising) effect.noised.resize(count);
  }
  const std::int64_t layers = pass.model().dimensions().layers;
  std::int64_t first = layers;
  for (const HeadIndex& sender : request.senders) first = std::min(first, sender.layer);
  const std::int64_t most = rows_at_once(pass.model());
  for (const PathChunk& chunk : path_chunks(prompts.clean, most)) {
    PromptScores scores(pass, prompts, request.measure, chunk.first, chunk.count, compute);
    const auto run = [&](const std::vector<TokenIds>& texts) {
      AllActivations kept;
      ForwardObserver observer;
      keep_all(kept, first, layers, observer);
      kept.states = pass.run(std::span(texts).subspan(chunk.first, chunk.count), observer, compute);
      return kept;
    };
    const AllActivations clean = run(prompts.clean), corrupted = run(prompts.corrupted);
    scores.set_clean(clean.states.view());
    const auto means = [&](MatrixView<const float> states) {
      std::vector<double> values;
      for (const auto& own : scores.of_all(states)) values.push_back(mean_of(own));
      return values;
    };
    for (const double value : means(clean.states.view())) out.clean.push_back(value);
    for (const double value : means(corrupted.states.view())) out.corrupted.push_back(value);
    const auto patch = [&](const std::vector<TokenIds>& texts, const AllActivations& base,
                           const AllActivations& source,
                           std::vector<double> PositionPatchEffect::*values) {
      const PathRuns runs(pass, request, std::span(texts).subspan(chunk.first, chunk.count), base,
                          source, compute);
      const auto together = static_cast<std::size_t>(std::max<std::int64_t>(1, most / chunk.rows));
      run_targets(runs, request.targets, together, chunk.rows,
                  [&](std::size_t target, MatrixView<const float> states) {
                    std::ranges::copy(means(states), (out.effects[target].*values).begin() +
                                                         static_cast<std::ptrdiff_t>(chunk.first));
                  });
    };
    if (request.directions.denoising) {
      patch(prompts.corrupted, corrupted, clean, &PositionPatchEffect::denoised);
    }
    if (request.directions.noising) {
      patch(prompts.clean, clean, corrupted, &PositionPatchEffect::noised);
    }
  }
  return out;
}

}  // namespace attnscope
