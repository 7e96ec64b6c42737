#include "attnscope/forward/layer_run.h"

#include <algorithm>
#include <cmath>

#include "attnscope/core/error.h"
#include "attnscope/forward/sized.h"
#include "attnscope/model/rope.h"
#include "attnscope/numerics/all_finite.h"
#include "attnscope/numerics/inference/norms.h"

namespace attnscope {
namespace {

Matrix<float> copy_of(const Matrix<float>& matrix) {
  Matrix<float> out(matrix.rows(), matrix.cols());
  std::copy_n(matrix.data(), matrix.rows() * matrix.cols(), out.data());
  return out;
}

/// out = a out + b x, element by element.
void mix(Matrix<float>& out, float a, const Matrix<float>& x, float b) {
  float* values = out.data();
  const float* other = x.data();
  const std::int64_t count = out.rows() * out.cols();
  for (std::int64_t at = 0; at < count; ++at) values[at] = a * values[at] + b * other[at];
}

/// Of a norm that has a gain for each head, that head's.
NormWeights part_of(const NormWeights& norm, std::int64_t head, std::int64_t size) {
  const auto part = [&](const std::vector<float>& all) {
    if (all.empty()) return all;
    return std::vector<float>(all.begin() + head * size, all.begin() + (head + 1) * size);
  };
  return {.spec = norm.spec, .gain = part(norm.gain), .bias = part(norm.bias)};
}

void heat(const TemperatureSpec& temperature, std::int64_t first, MatrixView<float> queries) {
  for (std::int64_t row = 0; row < queries.rows; ++row) {
    const auto periods = static_cast<float>((first + row) / temperature.period);
    const float factor = 1 + static_cast<float>(temperature.growth) * std::log(1 + periods);
    for (std::int64_t col = 0; col < queries.cols; ++col) queries(row, col) *= factor;
  }
}

}  // namespace

AttentionMask mask_of(const MaskSpec& spec) {
  const std::int64_t reach = spec.reach.value_or(AttentionMask::kAll);
  return {.keys_before = reach, .keys_after = spec.causal ? 0 : reach};
}

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
  for (const MappedFile& file : weights.tokens.checkpoint->files()) file.check_intact();
  for (std::int64_t row = 0; row < states.rows; ++row) {
    if (all_finite(states.row_block(row, 1))) continue;
    throw Error(ErrorKind::numerical,
                {.file = weights.tokens.checkpoint->main_file().string(),
                 .problem = of + " gives NaN or infinity (first at row " + std::to_string(row) +
                            "), so that nothing after it can be computed"});
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
                   std::span<KeyValueCache> caches)
    : spec_(spec),
      weights_(weights),
      sequences_(sequences),
      rows_(rows),
      states_(states),
      observer_(observer),
      compute_(compute),
      caches_(caches),
      experts_(spec, observer, compute),
      biases_(spec, weights, rows, compute) {
  bool mixes = false;
  for (const LayerWeights& layer : weights.layers) {
    if (layer.input || layer.convolution) mixes = true;
    if (layer.input && layer.input->skip_from) skipped_.try_emplace(*layer.input->skip_from);
  }
  if (mixes) embedding_ = copy_of(states);
}

LayerRun::Positions LayerRun::rotary_tables(std::int64_t layer) {
  const auto& rope = spec_.layers[static_cast<std::size_t>(layer)].attention.rope;
  if (!rope) return {};
  Positions out;
  for (std::size_t sequence = 0; sequence < sequences_.size(); ++sequence) {
    const std::int64_t first = rows_.first_position(sequence), tokens = rows_.tokens(sequence);
    const auto known = std::find_if(tables_.begin(), tables_.end(), [&](const KnownTable& table) {
      return table.first == first && table.tokens == tokens && table.rope == *rope;
    });
    if (known != tables_.end()) {
      out.push_back(&known->table);
      continue;
    }
    const RopeFrequencies turns =
        rope_frequencies(*rope, spec_.dimensions.heads.head_dim, tokens, spec_.source);
    tables_.push_back({*rope, first, tokens,
                       make_rotary_table(turns.radians_per_token, static_cast<float>(turns.gain),
                                         rope->pairs, first, rows_.length[sequence])});
    out.push_back(&tables_.back().table);
  }
  return out;
}

std::unique_ptr<LayerRun::Scratch> LayerRun::take_scratch() {
  const std::lock_guard lock(scratch_mutex_);
  if (scratch_.empty()) return std::make_unique<Scratch>();
  std::unique_ptr<Scratch> taken = std::move(scratch_.back());
  scratch_.pop_back();
  return taken;
}

void LayerRun::give_back(std::unique_ptr<Scratch> scratch) {
  const std::lock_guard lock(scratch_mutex_);
  scratch_.push_back(std::move(scratch));
}

/// What a layer does to the stream before its attention (daisy).
void LayerRun::enter(std::int64_t number) {
  const auto& input = weights_.layers[static_cast<std::size_t>(number)].input;
  if (!input) return;
  if (input->skip_from) {
    mix(states_, 1, skipped_.at(*input->skip_from), input->skip);
  }
  mix(states_, input->of_stream, embedding_, input->of_embedding);
}

void LayerRun::add_value_embedding(const ValueEmbedding& embedding, MatrixView<float> values) {
  std::vector<float> added(static_cast<std::size_t>(values.cols));
  std::int64_t row = 0;
  for (const TokenIds& ids : sequences_) {
    for (const std::int64_t id : ids) {
      if (embedding.table.tensor != nullptr) embedding.table.read(id, added);
      for (std::int64_t col = 0; col < values.cols; ++col) {
        values(row, col) = embedding.of_value * values(row, col) +
                           embedding.of_table * added[static_cast<std::size_t>(col)];
      }
      ++row;
    }
  }
}

/// The rows of a sequence in what all sequences lie in.
MatrixView<float> LayerRun::rows_of(std::size_t sequence, MatrixView<float> all) const {
  return all.row_block(rows_.first[sequence], rows_.length[sequence]);
}

/// What one head of a sequence has in qkv_, of the queries, keys or values.
MatrixView<float> LayerRun::head_of(Role role, std::size_t sequence, std::int64_t head) {
  const HeadShape& heads = spec_.dimensions.heads;
  std::int64_t first = 0;
  if (role != Role::query) first += heads.total_dim(Role::query);
  if (role == Role::value) first += heads.total_dim(Role::key);
  const std::int64_t columns = role == Role::value ? heads.value_dim : heads.head_dim;
  return rows_of(sequence, qkv_.view().col_block(first + head * columns, columns));
}

void LayerRun::clip(std::int64_t number, MatrixView<float> head) const {
  const auto& limit = spec_.layers[static_cast<std::size_t>(number)].attention.clip;
  if (!limit) return;
  const auto most = static_cast<float>(*limit);
  for (std::int64_t row = 0; row < head.rows; ++row) {
    for (std::int64_t col = 0; col < head.cols; ++col) {
      float& value = head(row, col);
      if (value > most) value = most;  // NaN stays NaN
      if (value < -most) value = -most;
    }
  }
}

/// Norm, clipping and rotation of one head of queries or keys. `table`: none, or of its rows.
void LayerRun::finish_head(std::int64_t number, const OptionalNorm& norm, std::int64_t head,
                           const RotaryTable* table, MatrixView<float> values,
                           const Compute& alone) const {
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(number)].attention;
  const auto turn = [&] {
    if (table == nullptr) return;
    const std::int64_t turned = spec.rope->last ? 2 * table->cos.cols() : values.cols;
    rotate(values.col_block(values.cols - turned, turned), *table, Rotation::forward, alone);
  };
  if (spec.norms_after_rotation) turn();
  if (norm && spec.norm_axis == HeadNormAxis::head) apply_norm(*norm, values, values, alone);
  if (norm && spec.norm_axis == HeadNormAxis::each_head) {
    apply_norm(part_of(*norm, head, values.cols), values, values, alone);
  }
  clip(number, values);
  if (!spec.norms_after_rotation) turn();
}

/// Norms of queries and keys that are taken over all heads.
void LayerRun::norm_all_heads(std::int64_t number) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(number)];
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(number)].attention;
  if (spec.norm_axis != HeadNormAxis::all_heads) return;
  const std::int64_t queries = spec_.dimensions.heads.total_dim(Role::query);
  const std::int64_t keys = spec_.dimensions.heads.total_dim(Role::key);
  const MatrixView<float> query = qkv_.view().col_block(0, queries);
  const MatrixView<float> key = qkv_.view().col_block(queries, keys);
  if (weights.query_norm) apply_norm(*weights.query_norm, query, query, compute_);
  if (weights.key_norm) apply_norm(*weights.key_norm, key, key, compute_);
}

/// In qkv_, and from there in the caches: norms and rotation of every key and value head.
void LayerRun::finish_keys_and_values(std::int64_t number, const Positions& tables) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(number)];
  const HeadShape& heads = spec_.dimensions.heads;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // of one part
  const auto for_heads = [&](const auto& visit) {
    const auto kv_heads = static_cast<std::size_t>(heads.kv_heads);
    run_parts(compute_, sequences_.size() * kv_heads, [&](std::size_t part) {
      visit(part / kv_heads, static_cast<std::int64_t>(part % kv_heads));
    });
  };
  for_heads([&](std::size_t sequence, std::int64_t head) {
    finish_head(number, weights.key_norm, head, tables.empty() ? nullptr : tables[sequence],
                head_of(Role::key, sequence, head), alone);
    const MatrixView<float> value = head_of(Role::value, sequence, head);
    if (weights.value_norm) apply_norm(*weights.value_norm, value, value, alone);
    clip(number, value);
  });
  if (weights.value_embedding) {
    const std::int64_t columns = heads.total_dim(Role::value);
    add_value_embedding(*weights.value_embedding,
                        qkv_.view().col_block(qkv_.cols() - columns, columns));
  }
  if (caches_.empty()) return;
  for_heads([&](std::size_t sequence, std::int64_t head) {
    caches_[sequence]
        .head(number, head)
        .put(rows_.first_position(sequence), head_of(Role::key, sequence, head),
             head_of(Role::value, sequence, head), compute_.kernels);
  });
}

/// From qkv_ to context_: norms, rotation and attention of every head of every sequence.
void LayerRun::attend_all(std::int64_t number) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(number)];
  const AttentionSpec& spec = spec_.layers[static_cast<std::size_t>(number)].attention;
  const HeadShape& heads = spec_.dimensions.heads;
  const Compute alone{.kernels = compute_.kernels, .stop = compute_.stop};  // of one part
  const Positions tables = rotary_tables(number);
  norm_all_heads(number);
  biases_.enter(number);
  // Every key and value head is finished before a query head reads it.
  finish_keys_and_values(number, tables);

  const bool with_maps =
      observer_.on_maps && (!observer_.wants_maps || observer_.wants_maps(number));
  const auto query_heads = static_cast<std::size_t>(heads.heads);
  const std::size_t parts = sequences_.size() * query_heads;
  LayerMaps shown{.layer = number, .heads = heads.heads};
  if (with_maps) {
    maps_.resize(parts);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t sequence = part / query_heads;
      shown.maps.push_back(sized(maps_[part], rows_.length[sequence], rows_.tokens(sequence)));
    }
  }
  const AttentionRule rule{.scale = static_cast<float>(spec.scale),
                           .soft_cap = static_cast<float>(spec.soft_cap.value_or(0)),
                           .mask = mask_of(spec.mask)};
  const MatrixView<float> context = sized(context_, rows_.total, heads.heads * heads.value_dim);
  run_parts(compute_, parts, [&](std::size_t part) {
    const std::size_t sequence = part / query_heads;
    const auto head = static_cast<std::int64_t>(part % query_heads);
    const std::int64_t kv_head = heads.kv_head(head);
    const MatrixView<float> query = head_of(Role::query, sequence, head);
    finish_head(number, weights.query_norm, head, tables.empty() ? nullptr : tables[sequence],
                query, alone);
    if (spec.temperature) heat(*spec.temperature, rows_.first_position(sequence), query);
    const MatrixView<float> map = with_maps ? maps_[part].view() : MatrixView<float>{};
    const MatrixView<float> out =
        rows_of(sequence, context.col_block(head * heads.value_dim, heads.value_dim));
    const MatrixView<float> keys = head_of(Role::key, sequence, kv_head);
    std::unique_ptr<Scratch> scratch = take_scratch();
    AttentionRule own = rule;
    own.bias = biases_.of(sequence, head, query, keys, scratch->bias);
    if (!weights.sinks.empty()) own.sink = weights.sinks[static_cast<std::size_t>(head)];
    if (caches_.empty()) {
      attend(query, keys, head_of(Role::value, sequence, kv_head), own, map, out,
             scratch->attention, alone);
    } else {
      attend(query, caches_[sequence].head(number, kv_head), rows_.tokens(sequence), own, map, out,
             scratch->attention.scores, alone);
    }
    give_back(std::move(scratch));
  });
  check_states(weights_, context, "the attention of layer " + std::to_string(number));
  if (with_maps) observer_.on_maps(shown);
}

/// out = mlp(input), or that added to what `out` holds.
void LayerRun::mlp(std::int64_t number, MatrixView<const float> input, MatrixView<float> out,
                   bool add) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(number)];
  if (weights.experts) return experts_.run(number, *weights.experts, input, out, add);
  const Activation activation = spec_.layers[static_cast<std::size_t>(number)].activation;
  const MatrixView<float> wide = sized(wide_, rows_.total, weights.up->weights.outputs());
  const bool gated = weights.gate != nullptr;
  apply(*weights.up, input, {.activation = gated ? Activation::linear : activation}, wide,
        compute_);
  if (gated) {
    apply(*weights.gate, input, {.activation = activation, .multiply = wide}, wide, compute_);
  }
  apply(*weights.down, wide, {.add = add ? out : MatrixView<float>{}}, out, compute_);
}

void LayerRun::add_to_stream(const Matrix<float>& change, double factor) {
  mix(states_, 1, change, static_cast<float>(factor));
}

void LayerRun::layer(std::int64_t number, bool maps_only) {
  const LayerSpec& spec = spec_.layers[static_cast<std::size_t>(number)];
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(number)];
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

  enter(number);
  const MatrixView<const float> input = norm_into(weights.attention_input, normed_);
  const HeadShape& heads = spec_.dimensions.heads;
  const MatrixView<float> qkv = sized(
      qkv_, rows_.total,
      heads.total_dim(Role::query) + heads.total_dim(Role::key) + heads.total_dim(Role::value));
  if (weights.latent) {
    latents_.run(*weights.latent, spec_.dimensions, input, qkv, compute_);
  } else {
    apply(*weights.qkv, input, {}, qkv, compute_);
  }
  attend_all(number);
  if (maps_only) return;

  // In the parallel form the MLP reads the stream as it was before the attention.
  Matrix<float> of_mlp;
  if (spec.parallel) {
    const bool own_norm = weights.mlp_input.has_value();
    const MatrixView<const float> mlp_input =
        own_norm ? norm_into(weights.mlp_input, change_) : input;
    of_mlp = Matrix<float>(stream.rows, stream.cols);
    mlp(number, mlp_input, of_mlp.view(), /*add=*/false);
  }

  // What a branch gives is added as it is computed, unless something comes between.
  const bool scaled = spec.branch_factor != 1;
  if (weights.attention_output || scaled) {
    const MatrixView<float> change = sized(change_, stream.rows, stream.cols);
    apply(*weights.output, context_.view(), {}, change, compute_);
    if (weights.attention_output) {
      apply_norm(*weights.attention_output, change, change, compute_);
    }
    add_to_stream(change_, spec.branch_factor);
  } else {
    apply(*weights.output, context_.view(), {.add = stream}, stream, compute_);
  }
  if (spec.parallel) {
    add_to_stream(of_mlp, spec.branch_factor);
  } else {
    norm_stream(weights.attention_sum);
  }
  if (!spec.parallel && (weights.up != nullptr || weights.experts)) {
    const MatrixView<const float> mlp_input = norm_into(weights.mlp_input, normed_);
    if (weights.mlp_output || scaled) {
      const MatrixView<float> change = sized(change_, stream.rows, stream.cols);
      mlp(number, mlp_input, change, /*add=*/false);
      if (weights.mlp_output) apply_norm(*weights.mlp_output, change, change, compute_);
      add_to_stream(change_, spec.branch_factor);
    } else {
      mlp(number, mlp_input, stream, /*add=*/true);
    }
    norm_stream(weights.mlp_sum);
  }
  if (weights.convolution) add_convolution(*weights.convolution);
  const auto taken_up = skipped_.find(number);
  if (taken_up != skipped_.end()) taken_up->second = copy_of(states_);
  check_states(weights_, stream, "layer " + std::to_string(number));
}

}  // namespace attnscope
