#include "attnscope/forward/layer_run.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/forward/conformer.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/model/rope.h"
#include "attnscope/numerics/inference/activations.h"
#include "attnscope/numerics/inference/norms.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

/// Computes out = a out + b x, element by element.
void mix(Matrix<float>& out, float a, const Matrix<float>& x, float b) {
  float* values = out.data();
  const float* other = x.data();
  const std::int64_t count = out.rows() * out.cols();
  for (std::int64_t at = 0; at < count; ++at) values[at] = a * values[at] + b * other[at];
}

/// Multiplies each column by its factor. Does nothing if `factors` is empty.
void scale_columns(MatrixView<float> rows, const std::vector<float>& factors) {
  if (factors.empty()) return;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    float* values = &rows(row, 0);
    for (std::size_t col = 0; col < factors.size(); ++col) values[col] *= factors[col];
  }
}

}  // namespace

void apply_norm(const NormWeights& norm, MatrixView<const float> x, MatrixView<float> out,
                const Compute& compute) {
  if (norm.spec.kind == NormKind::layer) {
    layer_norm(x, norm.gain, norm.bias, norm.spec.epsilon, out, compute);
  } else {
    rms_norm(x, norm.gain, static_cast<float>(norm.spec.gain_offset), norm.spec.epsilon, out,
             compute);
  }
}

void check_states(const ForwardWeights& weights, MatrixView<const float> states,
                  const std::string& of) {
  for (const MappedFile& file : weights.checkpoint->files()) file.check_intact();
  for (std::int64_t row = 0; row < states.rows; ++row) {
    if (all_finite(states.row_block(row, 1))) continue;
    throw Error(ErrorKind::numerical,
                {.file = weights.checkpoint->main_file().string(),
                 .problem = of + " outputs NaN or infinity (first at row " + std::to_string(row) +
                            "): nothing after it can be computed"});
  }
}

void apply(const LinearLayer& layer, MatrixView<const float> x, LinearEpilogue after,
           MatrixView<float> out, const Compute& compute) {
  after.bias = layer.bias;
  apply_linear(x, layer.weights, after, out, compute);
}

LayerRun::LayerRun(const ModelSpec& spec, const ForwardWeights& weights,
                   std::span<const TokenIds> sequences, const SequenceRows& rows,
                   Matrix<float>& states, const ForwardObserver& observer, const Compute& compute,
                   std::span<KeyValueCache> caches, const EncoderOutput* encoder_output)
    : spec_(spec),
      weights_(weights),
      sequences_(sequences),
      rows_(rows),
      states_(states),
      observer_(observer),
      compute_(compute),
      caches_(caches),
      encoder_output_(encoder_output),
      hooks_{.hooks = observer.hooks, .rows = &rows_},
      experts_(spec, observer, hooks_, compute),
      mixers_(rows_, compute, caches),
      biases_(spec, weights, rows_, compute),
      selection_(spec, weights, rows_, compute, caches) {
  bool mixes = false;
  for (const LayerWeights& layer : weights.layers) {
    if (layer.input || layer.convolution || layer.own_input || layer.block) mixes = true;
    if (layer.input && layer.input->skip_from) skipped_.try_emplace(*layer.input->skip_from);
  }
  if (mixes) embedding_ = copied(states.view());
  for (const KeyValueSharing& sharing : spec.key_values) {
    if (sharing.from) kept_.try_emplace(*sharing.from);
  }
  if (spec.stream.altup) {
    altup_.start(*spec.stream.altup, weights.streams, states_.view(), compute);
  }
}

void LayerRun::predict_streams(std::int64_t layer) {
  const auto& altup = weights_.layers[static_cast<std::size_t>(layer)].altup;
  if (altup) altup_.predict(*altup, states_.view(), compute_);
}

/// Combines the residual stream with skip connections before the attention (daisy).
void LayerRun::enter(std::int64_t layer) {
  const auto& input = weights_.layers[static_cast<std::size_t>(layer)].input;
  if (!input) return;
  if (input->skip_from) {
    mix(states_, 1, skipped_.at(*input->skip_from), input->skip);
  }
  mix(states_, input->of_stream, embedding_, input->of_embedding);
}

/// Computes out = mlp(input), or adds it to `out` if `add` is set.
void LayerRun::mlp(std::int64_t layer, MatrixView<const float> input, MatrixView<float> out,
                   bool add) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  if (weights.experts) {
    return experts_.run(layer, *weights.experts, states_.view(), input, out, add);
  }
  const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(layer)];
  const Activation activation = spec.activation;
  const MatrixView<float> wide = sized(wide_, rows_.total, weights.up->weights.outputs());
  const bool gated = weights.gate != nullptr;
  input = as_read(layer, input);
  show_input(layer, Role::up, input);
  const bool shows_gate = hooks_.wants(HookPoint::mlp_pre, layer);
  const bool fused = !gated && !shows_gate;
  apply(*weights.up, input, {.activation = fused ? activation : Activation::linear}, wide,
        compute_);
  if (!gated && shows_gate) {
    hooks_.show(HookPoint::mlp_pre, layer, wide);
    activate(activation, wide, compute_);
  }
  const auto factor = static_cast<float>(spec.gate_factor);
  const bool shows_up = gated && hooks_.wants(HookPoint::mlp_pre_linear, layer);
  if (gated && (spec.gate_cutoff || factor != 1 || weights.block || shows_gate || shows_up)) {
    const MatrixView<float> gates = sized(gates_, wide.rows, wide.cols);
    apply(*weights.gate, input, {}, gates, compute_);
    if (weights.block) {
      const SharedBlockWeights& block = *weights.block;
      const MatrixView<float> inner = sized(latents_, wide.rows, block.mlp_down->weights.outputs());
      apply(*block.mlp_down, input, {}, inner, compute_);
      apply(*block.gate_up, inner, {.add = gates}, gates, compute_);
      apply(*block.up_up, inner, {.add = wide}, wide, compute_);
    }
    hooks_.show(HookPoint::mlp_pre, layer, gates);
    hooks_.show(HookPoint::mlp_pre_linear, layer, wide);
    if (factor != 1) mix(gates_, factor, gates_, 0);
    if (spec.gate_cutoff) cut_gates(*spec.gate_cutoff, gates);
    activate(activation, gates, compute_);
    for (std::int64_t row = 0; row < wide.rows; ++row) {
      for (std::int64_t col = 0; col < wide.cols; ++col) wide(row, col) *= gates(row, col);
    }
  } else if (gated) {
    apply(*weights.gate, input, {.activation = activation, .multiply = wide}, wide, compute_);
  }
  if (weights.mlp_hidden) apply_norm(*weights.mlp_hidden, wide, wide, compute_);
  hooks_.show(HookPoint::mlp_post, layer, wide);
  const MatrixView<const float> inner = as_read(layer, wide);
  show_input(layer, Role::down, inner);
  apply(*weights.down, inner, {.add = add ? out : MatrixView<float>{}}, out, compute_);
}

void LayerRun::show_input(std::int64_t layer, Role role, MatrixView<const float> input) const {
  if (observer_.sees_input(layer, role)) observer_.on_inputs(layer, role, input);
}

void LayerRun::add_to_stream(const Matrix<float>& change, double factor) {
  mix(states_, 1, change, static_cast<float>(factor));
}

void LayerRun::add_change(HookPoint point, std::int64_t layer, double factor) {
  if (!hooks_.wants(point, layer)) return add_to_stream(change_, factor);
  if (factor != 1) mix(change_, static_cast<float>(factor), change_, 0);
  hooks_.show(point, layer, change_.view());
  add_to_stream(change_, 1);
}

void LayerRun::scale_stream(double factor) {
  if (factor != 1) mix(states_, static_cast<float>(factor), states_, 0);
}

void LayerRun::run_attention(std::int64_t layer, MatrixView<const float> input) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const auto factor =
      static_cast<float>(spec_.layers[static_cast<std::size_t>(layer)].attention_input_factor);
  if (factor != 1) {
    scaled_ = copied(input);
    mix(scaled_, factor, scaled_, 0);
    input = scaled_.view();
  }
  heads_ = spec_.dimensions_of(layer).heads;
  const bool shares = spec_.sharing_of(layer).from.has_value();
  const std::int64_t of_keys =
      shares ? 0 : heads_.total_dim(Role::key) + heads_.total_dim(Role::value);
  const MatrixView<float> qkv = sized(qkv_, rows_.total, heads_.total_dim(Role::query) + of_keys);
  if (weights.mla) {
    MlaAttention::OnLatents on_latents;
    if (observer_.on_latents) {
      on_latents = [&](MatrixView<const float> queries, MatrixView<const float> keys_and_values) {
        observer_.on_latents({layer, queries, keys_and_values});
      };
    }
    mla_.run(*weights.mla, spec_.dimensions, input, qkv, on_latents, compute_);
    select_keys(layer, input);
  } else {
    input = as_read(layer, input);
    apply(*weights.qkv, input, {}, qkv, compute_);
    if (weights.block) add_adapters(*weights.block, input, qkv);
  }
  if (hooks_.hooks != nullptr) show_projections(layer);
  spec_.layers[static_cast<std::size_t>(layer)].attention.windows ? attend_windows(layer, input)
                                                                  : attend_all(layer, input);
  if (weights.attention_gate != nullptr || weights.attention_heads) {
    hooks_.show(HookPoint::z_before_gate, layer, context_.view());
  }
  if (weights.attention_gate == nullptr) return;
  const MatrixView<float> context = context_.view();
  apply(*weights.attention_gate, input, {.activation = Activation::sigmoid, .multiply = context},
        context, compute_);
}

/// Accumulates the MLP output into the residual stream directly, unless a norm, a factor or the
/// observer needs it first.
void LayerRun::add_mlp(std::int64_t layer, MatrixView<const float> input) {
  const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(layer)];
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const bool plain = !weights.mlp_output && spec.branch_factor == 1 &&
                     spec.mlp_stream_factor == 1 && weights.mlp_factors.empty();
  if (plain && !observer_.on_mlp && !hooks_.wants(HookPoint::mlp_out, layer)) {
    return mlp(layer, input, states_.view(), /*add=*/true);
  }
  const MatrixView<float> change = sized(change_, states_.rows(), states_.cols());
  mlp(layer, input, change, /*add=*/false);
  if (observer_.on_mlp && observer_.sees_parts_of(layer)) observer_.on_mlp(layer, change);
  if (weights.mlp_output) apply_norm(*weights.mlp_output, change, change, compute_);
  scale_columns(change, weights.mlp_factors);
  scale_stream(spec.mlp_stream_factor);
  add_change(HookPoint::mlp_out, layer, spec.branch_factor);
}

void LayerRun::add_attention(std::int64_t layer) {
  const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(layer)];
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const MatrixView<float> stream = states_.view();
  const MatrixView<const float> context = as_read(layer, context_.view());
  // The output is accumulated into the residual stream directly, unless a norm, a factor or a hook
  // comes between.
  const bool scaled = spec.branch_factor != 1;
  const bool shown = hooks_.wants(HookPoint::attn_out, layer) || result_change_.rows() > 0;
  if (!shown && !weights.attention_output && !scaled && weights.attention_factors.empty()) {
    return apply(*weights.output, context, {.add = stream}, stream, compute_);
  }
  const MatrixView<float> change = sized(change_, stream.rows, stream.cols);
  apply(*weights.output, context, {}, change, compute_);
  if (result_change_.rows() > 0) mix(change_, 1, result_change_, 1);
  if (weights.attention_output) apply_norm(*weights.attention_output, change, change, compute_);
  scale_columns(change, weights.attention_factors);
  add_change(HookPoint::attn_out, layer, spec.branch_factor);
}

void LayerRun::run_layer(std::int64_t layer, bool maps_only, bool ends_across,
                         const PassStart& start) {
  const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(layer)];
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const MatrixView<float> stream = states_.view();
  const auto norm_into = [&](const OptionalNorm& norm, Matrix<float>& out) {
    if (!norm) return MatrixView<const float>(stream);
    const MatrixView<float> to =
        spec.norms_replace_stream ? stream : sized(out, stream.rows, stream.cols);
    apply_norm(*norm, stream, to, compute_);
    return MatrixView<const float>(to);
  };
  const auto norm_stream = [&](const OptionalNorm& norm) {
    if (norm) apply_norm(*norm, stream, stream, compute_);
  };

  enter(layer);
  if (weights.conformer) {
    add_first_mlp(*weights.conformer, *spec.conformer, spec.activation, stream, compute_);
  }
  const MatrixView<const float> input =
      weights.block ? block_input(weights) : norm_into(weights.attention_input, normed_);
  show_input(layer, Role::query, input);
  const bool attends = start.attends && weights.output != nullptr;
  const bool mixes = start.attends && weights.mixer != nullptr;
  if (start.heads.data != nullptr) {
    copy_into(sized(context_, start.heads.rows, start.heads.cols), start.heads);
  } else if (attends) {
    run_attention(layer, input);
  }
  if (maps_only && !ends_across) return;
  if (mixes && !weights.block) mix_tokens(layer, input);
  const bool sees_parts = observer_.sees_parts_of(layer);
  if (attends) {
    if (observer_.on_heads && sees_parts) observer_.on_heads(layer, context_.view());
    const OptionalNorm& norm = weights.attention_heads;
    if (norm) apply_norm(*norm, context_.view(), context_.view(), compute_);
    show_input(layer, Role::output, context_.view());
    hooks_.show(HookPoint::z, layer, context_.view());
    if (hooks_.hooks != nullptr) {
      show_results(HookPoint::result, layer, *weights.output, as_read(layer, context_.view()));
    }
  }

  // With parallel attention and MLP, the MLP reads the residual stream before the attention.
  Matrix<float> of_mlp;
  if (spec.parallel) {
    const bool own_norm = weights.mlp_input.has_value();
    const MatrixView<const float> mlp_input =
        own_norm ? norm_into(weights.mlp_input, change_) : input;
    of_mlp = Matrix<float>(stream.rows, stream.cols);
    mlp(layer, mlp_input, of_mlp.view(), /*add=*/false);
    if (observer_.on_mlp && sees_parts) observer_.on_mlp(layer, of_mlp.view());
  }

  scale_stream(spec.attention_stream_factor);
  if (attends && !weights.block) add_attention(layer);
  if (mixes && weights.block) mix_tokens(layer, mixer_input(layer));
  if (mixes) add_mixer(layer, spec.branch_factor);
  if (weights.laurel) add_laurel(*weights.laurel, input, stream, compute_);
  if (spec.parallel) {
    std::swap(change_, of_mlp);
    add_change(HookPoint::mlp_out, layer, spec.branch_factor);
  } else {
    norm_stream(weights.attention_sum);
  }
  if (weights.conformer) {
    add_convolution_module(*weights.conformer, spec.activation, rows_, stream, compute_);
  }
  const bool has_mlp =
      !spec.parallel && !weights.block && (weights.up != nullptr || weights.experts);
  if (has_mlp) hooks_.show(HookPoint::resid_mid, layer, stream);
  if (weights.cross) add_cross_attention(layer, maps_only, start.cross_heads);
  if (maps_only) return;
  if (has_mlp) {
    if (observer_.on_middle) observer_.on_middle(layer, stream);
    add_mlp(layer, norm_into(weights.mlp_input, normed_));
    norm_stream(weights.mlp_sum);
  }
  if (weights.convolution) add_convolution(*weights.convolution);
  if (weights.altup) altup_.correct(*weights.altup, stream, compute_);
  if (weights.own_input) add_own_input(layer);
  if (weights.altup && layer + 1 == spec_.dimensions.layers) {
    altup_.merge(weights_.last_streams, stream, compute_);
  }
  if (weights.output_factor != 1) mix(states_, weights.output_factor, states_, 0);
  hooks_.show(HookPoint::resid_post, layer, stream);
  const auto taken_up = skipped_.find(layer);
  if (taken_up != skipped_.end()) taken_up->second = copied(states_.view());
  if (weights.merging) merge_patches(*weights.merging);
  check_states(weights_, states_.view(), "layer " + std::to_string(layer));
}

void LayerRun::add_own_input(std::int64_t layer) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const Activation activation = spec_.layers[static_cast<std::size_t>(layer)].activation;
  const MatrixView<float> stream = states_.view();
  const MatrixView<const float> from =
      weights.altup ? altup_.scaled(*weights.altup, stream) : MatrixView<const float>(stream);
  const MatrixView<const float> term = own_inputs_.term(*weights.own_input, activation, sequences_,
                                                        embedding_.view(), from, compute_);
  if (weights.altup) return altup_.add(term, stream);
  for (std::int64_t row = 0; row < stream.rows; ++row) {
    for (std::int64_t col = 0; col < stream.cols; ++col) stream(row, col) += term(row, col);
  }
}

// Convolution that DeBERTa's first layer adds to its output.

/// Adds the convolution of the embedding, which is 0 beyond the ends of a text.
void LayerRun::add_convolution(const ConvolutionWeights& convolution) {
  const std::int64_t kernel = convolution.kernel, width = embedding_.cols();
  Matrix<float> places(rows_.total, width * kernel);
  for (std::size_t sequence = 0; sequence < rows_.first.size(); ++sequence) {
    const MatrixView<float> text = rows_of(sequence, embedding_.view());
    const MatrixView<float> out = rows_of(sequence, places.view());
    for (std::int64_t token = 0; token < text.rows; ++token) {
      for (std::int64_t tap = 0; tap < kernel; ++tap) {
        const std::int64_t from = token + tap - kernel / 2;
        const bool inside = from >= 0 && from < text.rows;
        for (std::int64_t col = 0; col < width; ++col) {
          out(token, col * kernel + tap) = inside ? text(from, col) : 0;
        }
      }
    }
  }
  const MatrixView<float> stream = states_.view();
  apply(*convolution.taps, places.view(), {.activation = convolution.activation, .add = stream},
        stream, compute_);
  apply_norm(*convolution.norm, stream, stream, compute_);
}

MatrixView<const float> PerLayerInput::term(
    const PerLayerInputWeights& weights, Activation activation, std::span<const TokenIds> sequences,
    MatrixView<const float> embedding, MatrixView<const float> stream, const Compute& compute) {
  const MatrixView<float> input = sized(input_, stream.rows, weights.width);
  apply(*weights.projection, embedding, {}, input, compute);
  apply_norm(*weights.projection_norm, input, input, compute);
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(weights.width)));
  constexpr float kShare = 1 / std::numbers::sqrt2_v<float>;
  std::vector<float> of_token(static_cast<std::size_t>(weights.width));
  std::int64_t row = 0;
  for (const TokenIds& ids : sequences) {
    for (const std::int64_t id : ids) {
      weights.table.read(id < weights.table.rows ? id : 0, of_token);
      for (std::int64_t col = 0; col < weights.width; ++col) {
        float& value = input(row, col);
        value = (value + root * of_token[static_cast<std::size_t>(col)]) * kShare;
      }
      ++row;
    }
  }
  weights.table.check_intact();

  const MatrixView<float> narrow = sized(narrow_, stream.rows, weights.width);
  apply(*weights.gate, stream, {.activation = activation, .multiply = input}, narrow, compute);
  const MatrixView<float> change = sized(change_, stream.rows, stream.cols);
  apply(*weights.up, narrow, {}, change, compute);
  apply_norm(*weights.norm, change, change, compute);
  return change;
}

}  // namespace attnscope
