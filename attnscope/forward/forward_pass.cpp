#include "attnscope/forward/forward_pass.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/audio_embedding.h"
#include "attnscope/forward/hooks.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/mla.h"
#include "attnscope/forward/patch_embedding.h"
#include "attnscope/forward/sparse_attention_indexer.h"
#include "attnscope/forward/token_embedding.h"

namespace attnscope {
namespace {

SequenceRows rows_of(std::span<const TokenIds> sequences, std::span<const KeyValueCache> caches) {
  SequenceRows rows;
  for (std::size_t at = 0; at < sequences.size(); ++at) {
    rows.first.push_back(rows.total);
    rows.length.push_back(std::ssize(sequences[at]));
    rows.past.push_back(caches.empty() ? std::span<const std::int64_t>() : caches[at].tokens());
    rows.total += rows.length.back();
    if (!caches.empty() && rows.tokens(at) > caches[at].room()) {
      throw std::length_error("the KV cache has no room for the tokens of this run");
    }
  }
  return rows;
}

SequenceRows rows_of(std::span<const std::int64_t> lengths) {
  SequenceRows rows;
  for (const std::int64_t length : lengths) {
    rows.first.push_back(rows.total);
    rows.length.push_back(length);
    rows.past.emplace_back();
    rows.total += length;
  }
  return rows;
}

/// Returns the stack with this name of the model to which `model` belongs.
const Model& stack_of(const Model& model, std::string_view stack) {
  if (model.stack() == stack) return model;
  if (const Model* other = model.sibling(stack)) return *other;
  throw Error(ErrorKind::format, {.file = model.checkpoint().main_file().string(),
                                  .problem = "has no " + std::string(stack) +
                                             " attention, and the decoder cannot run without it"});
}

bool is_of_decoder(const Model& model) {
  return model.stack() == "decoder" || model.stack() == "cross";
}

/// Returns the number of values per token that are kept for later layers.
std::int64_t kept_row_size(const ModelSpec& spec) {
  std::int64_t numbers = 0;
  std::set<std::int64_t> kept;
  for (const KeyValueSharing& sharing : spec.key_values) {
    if (!sharing.from || !kept.insert(*sharing.from).second) continue;
    const HeadShape& heads = spec.dimensions_of(*sharing.from).heads;
    numbers += heads.total_dim(Role::key) + heads.total_dim(Role::value);
  }
  if (spec.stream.altup) numbers += (spec.stream.altup->streams + 3) * spec.dimensions.width;
  const bool has_cutoff = std::any_of(spec.layers.begin(), spec.layers.end(),
                                      [](const LayerSpec& layer) { return layer.gate_cutoff; });
  if (has_cutoff) numbers += largest_dimensions(spec).mlp_width;
  // The embedding, and the input, the output and the adapters of a block.
  const auto block = std::find_if(spec.layers.begin(), spec.layers.end(),
                                  [](const LayerSpec& layer) { return layer.block.has_value(); });
  if (block != spec.layers.end()) {
    numbers += 4 * spec.dimensions.width + spec.dimensions.mlp_width + block->block->adapter_rank;
  }
  const bool keeps_embedding = !spec.layers.empty() && spec.layers.front().own_input.has_value();
  return keeps_embedding ? numbers + 2 * spec.dimensions.width : numbers;
}

/// Returns the number of weights in all maps of a layer for one sequence, for the layer that has
/// the most. Patch merging leaves a quarter of the patches.
double map_numbers(const ModelSpec& spec, std::int64_t tokens) {
  auto rows = static_cast<double>(tokens);
  double most = 0;
  for (std::int64_t layer = 0; layer < std::ssize(spec.layers); ++layer) {
    const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
    const auto heads = static_cast<double>(spec.dimensions_of(layer).heads.heads);
    const auto& windows = own.attention.windows;
    const double keys = windows ? static_cast<double>(windows->size * windows->size) : rows;
    most = std::max(most, heads * std::max(rows, keys) * keys);
    if (own.merging) rows /= 4;
  }
  return most;
}

/// Returns the number of values per row that attention in windows adds.
double window_row_size(const ModelSpec& spec) {
  const bool any = std::any_of(spec.layers.begin(), spec.layers.end(),
                               [](const LayerSpec& layer) { return layer.attention.windows; });
  const HeadShape heads = largest_dimensions(spec).heads;
  return any ? static_cast<double>(heads.total_dim(Role::query) + heads.total_dim(Role::key) +
                                   2 * heads.total_dim(Role::value))
             : 0;
}

}  // namespace

Matrix<float> LayerMaps::map_of_image(std::int64_t image, std::int64_t head) const {
  std::vector<MatrixView<const float>> own;
  for (std::int64_t window = 0; window < std::ssize(windows); ++window) {
    own.push_back(map(image * std::ssize(windows) + window, head));
  }
  return attnscope::map_of_image(windows, own);
}

ForwardPass::ForwardPass(const Model& model, bool copy_weights, const Compute& compute,
                         std::shared_ptr<const ForwardPass> encoder)
    : model_(is_of_decoder(model) ? stack_of(model, "decoder") : model),
      encoder_(std::move(encoder)),
      weights_(ForwardWeights::read(model_, copy_weights, compute,
                                    is_of_decoder(model) ? &stack_of(model, "cross") : nullptr)) {
  if (!is_of_decoder(model)) return;
  if (encoder_ == nullptr) {
    encoder_ =
        std::make_shared<const ForwardPass>(stack_of(model, "encoder"), copy_weights, compute);
  }
  const std::int64_t given =
      weights_.source_projection == nullptr ? encoder_->output_width() : model_.dimensions().width;
  const std::int64_t read = stack_of(model, "cross").dimensions().key_inputs();
  if (given == read) return;
  throw Error(ErrorKind::format,
              {.file = model.spec().source,
               .problem = "the encoder outputs vectors of size " + std::to_string(given) +
                          ", but cross-attention reads " + std::to_string(read) + " values"});
}

EncoderOutput ForwardPass::projected(EncoderOutput output, const Compute& compute) const {
  if (weights_.source_projection == nullptr) return output;
  Matrix<float> states(output.states.rows(), weights_.source_projection->weights.outputs());
  apply(*weights_.source_projection, output.states.view(), {}, states.view(), compute);
  output.states = std::move(states);
  return output;
}

EncoderOutput ForwardPass::encode(std::span<const TokenIds> sources,
                                  const ForwardObserver& observer, const Compute& compute) const {
  EncoderOutput encoder_output{.states = encoder_->run(sources, observer, compute), .lengths = {}};
  for (const TokenIds& source : sources) encoder_output.lengths.push_back(std::ssize(source));
  return projected(std::move(encoder_output), compute);
}

EncoderOutput ForwardPass::encode(std::span<const MediaInput> sources,
                                  const ForwardObserver& observer, const Compute& compute) const {
  EncoderOutput encoder_output{.states = encoder_->run(sources, observer, compute), .lengths = {}};
  for (const MediaInput& source : sources)
    encoder_output.lengths.push_back(encoder_->length_of(source));
  return projected(std::move(encoder_output), compute);
}

std::int64_t ForwardPass::longest() const { return longest_text(model_.spec(), weights_); }

std::int64_t ForwardPass::output_width() const {
  return weights_.last_projection == nullptr ? model_.dimensions().width
                                             : weights_.last_projection->weights.outputs();
}

std::int64_t ForwardPass::logits_width() const {
  return weights_.head ? weights_.head->vocabulary->weights.outputs() : 0;
}

void ForwardPass::check_ids(const TokenIds& ids) const {
  for (std::size_t at = 0; at < ids.size(); ++at) {
    if (ids[at] >= 0 && ids[at] < vocabulary()) continue;
    throw Error(ErrorKind::usage,
                {.problem = "token id " + std::to_string(ids[at]) + " (position " +
                            std::to_string(at) + ") is out of range: " + model_.name() +
                            " has ids 0 to " + std::to_string(vocabulary() - 1)});
  }
}

void ForwardPass::check_types(const TokenIds& ids) const {
  if (ids.types.empty()) return;
  if (ids.types.size() != ids.size()) {
    throw Error(ErrorKind::usage, {.problem = counted(ids.size(), "token") + ", but " +
                                              counted(ids.types.size(), "token type")});
  }
  const std::int64_t types = weights_.types.tensor == nullptr ? 1 : weights_.types.rows;
  for (const std::int64_t type : ids.types) {
    if (type >= 0 && type < types) continue;
    throw Error(ErrorKind::usage, {.problem = "token type " + std::to_string(type) +
                                              " is out of range: " + model_.name() + " has " +
                                              counted(types, "token type")});
  }
}

void ForwardPass::check(const TokenIds& sequence, std::int64_t past) const {
  const auto refuse = [&](const std::string& problem) {
    throw Error(ErrorKind::usage, {.problem = problem});
  };
  if (reads_images()) refuse(model_.name() + " takes images, not text");
  if (reads_audio()) refuse(model_.name() + " takes audio, not text");
  if (sequence.empty()) refuse("the text has no tokens");
  check_ids(sequence);
  check_types(sequence);
  const std::int64_t tokens = past + std::ssize(sequence);
  if (tokens > longest()) {
    throw Error(ErrorKind::usage,
                {.problem = "a text of " + counted(tokens, "token") + " is longer than the " +
                            std::to_string(longest()) + " positions of " + model_.name(),
                 .hint = "shorten it, or pass {text_file}, which is read in windows"});
  }
}

void ForwardPass::check_head() const {
  if (no_logits().empty() || !model_.spec().head.rule.needed) return;
  throw Error(ErrorKind::format, {.file = model_.checkpoint().main_file().string(),
                                  .problem = verbatim(no_logits()),
                                  .hint = "the LM head in " + model_.spec().source});
}

Matrix<float> ForwardPass::run(std::span<const TokenIds> sequences, const ForwardObserver& observer,
                               const Compute& compute, std::span<KeyValueCache> caches,
                               const EncoderOutput* encoder_output) const {
  const SequenceRows rows = rows_of(sequences, caches);
  for (std::size_t at = 0; at < sequences.size(); ++at) {
    check(sequences[at], rows.first_position(at));
  }
  Matrix<float> states;
  if (layers_elsewhere(model_) == nullptr) {
    states = embed(model_.spec(), weights_, sequences, rows, compute);
  }
  return run_layers(std::move(states), {}, sequences, rows, observer, compute, caches,
                    encoder_output);
}

Matrix<float> ForwardPass::run(PreparedStates prepared, const ForwardObserver& observer,
                               const Compute& compute) const {
  SequenceRows rows = rows_of(prepared.lengths);
  rows.grid = prepared.grid;
  const bool fits = rows.total > 0 && prepared.states.rows() == rows.total &&
                    prepared.states.cols() == model_.spec().dimensions_of(0).width;
  const bool reads_tokens = std::any_of(
      weights_.layers.begin(), weights_.layers.end(),
      [](const LayerWeights& layer) { return layer.value_embedding || layer.own_input; });
  if (!fits || reads_tokens)
    throw std::invalid_argument("the prepared states do not fit the model");
  return run_layers(std::move(prepared.states), {}, {}, rows, observer, compute, {},
                    /*memory=*/nullptr);
}

Matrix<float> ForwardPass::run(std::span<const MediaInput> media_inputs,
                               const ForwardObserver& observer, const Compute& compute) const {
  if (reads_audio())
    return run(embed_audio(model_, weights_, media_inputs, compute), observer, compute);
  return run(embed_images(model_, weights_, media_inputs, compute), observer, compute);
}

std::int64_t ForwardPass::length_of(const MediaInput& media_input) const {
  return rows_of_media(model_, media_input);
}

PatchGrid ForwardPass::grid_of(const MediaInput& image) const {
  return grid_of_image(model_, image);
}

Matrix<float> ForwardPass::run_from(const PassStart& start, std::span<const TokenIds> sequences,
                                    const ForwardObserver& observer, const Compute& compute,
                                    const EncoderOutput* encoder_output,
                                    std::span<KeyValueCache> caches) const {
  const SequenceRows rows = rows_of(sequences, caches);
  return run_layers(copied(start.stream), start, sequences, rows, observer, compute, caches,
                    encoder_output);
}

Matrix<float> ForwardPass::run_layers(Matrix<float> states, const PassStart& start,
                                      std::span<const TokenIds> sequences, const SequenceRows& rows,
                                      const ForwardObserver& observer, const Compute& compute,
                                      std::span<KeyValueCache> caches,
                                      const EncoderOutput* encoder_output) const {
  const auto show = [&](const auto& seen, std::int64_t index) {
    if (seen) seen(index, states.view());
  };
  const bool remembers = !caches.empty() && caches.front().encoder_length() > 0;
  if (encoder_ != nullptr && encoder_output == nullptr && !remembers) {
    throw needs_source(model_);
  }
  for (std::size_t at = 0; encoder_output != nullptr && at < caches.size(); ++at) {
    caches[at].set_encoder_length(encoder_output->lengths[at]);
  }
  const std::int64_t layers = model_.spec().dimensions.layers;
  const HookCalls hooks{.hooks = observer.hooks, .rows = &rows};
  const LayersElsewhere* elsewhere = layers_elsewhere(model_);
  if (elsewhere != nullptr && start.attends && start.layer < layers) {
    states =
        elsewhere->run({*this, start, sequences, rows, observer, encoder_output, caches, compute});
    if (observer.end_after_layer || observer.end_after_maps_of) return {};
    check_states(weights_, states.view(), "the last layer");
    return end_pass(std::move(states), sequences, observer, compute, caches, hooks);
  }
  check_states(weights_, states.view(),
               start.layer == 0 ? "the embedding" : "the given residual stream");
  LayerRun run(model_.spec(), weights_, sequences, rows, states, observer, compute, caches,
               encoder_output);
  // With several streams, a layer reads the prediction of the active one.
  const bool predicts = model_.spec().stream.altup.has_value();
  const auto enter = [&](std::int64_t layer) {
    if (!predicts) hooks.show(HookPoint::resid_pre, layer, states.view());
    show(observer.on_hidden_states, layer);
    run.predict_streams(layer);
    if (predicts) hooks.show(HookPoint::resid_pre, layer, states.view());
  };
  if (start.layer < layers) {
    enter(start.layer);
  } else {
    show(observer.on_hidden_states, start.layer);
  }
  if (observer.sees_stream(start.layer)) observer.on_stream(start.layer, states.view());
  for (std::int64_t layer = start.layer; layer < layers; ++layer) {
    const bool ends = layer == observer.end_after_maps_of;
    compute.check_stop();
    run.run_layer(layer, ends, ends && observer.ends_across,
                  layer == start.layer ? start : PassStart());
    if (ends) return {};
    if (layer + 1 < layers) enter(layer + 1);
    if (observer.sees_stream(layer + 1)) observer.on_stream(layer + 1, states.view());
    if (layer == observer.end_after_layer) return {};
  }
  return end_pass(std::move(states), sequences, observer, compute, caches, hooks);
}

Matrix<float> ForwardPass::end_pass(Matrix<float> states, std::span<const TokenIds> sequences,
                                    const ForwardObserver& observer, const Compute& compute,
                                    std::span<KeyValueCache> caches, const HookCalls& hooks) const {
  const std::int64_t layers = model_.spec().dimensions.layers;
  const auto show = [&](const auto& seen, std::int64_t index) {
    if (seen) seen(index, states.view());
  };
  const bool normed = model_.spec().stream.shows_last_normed;
  if (!normed) show(observer.on_hidden_states, layers);
  states = finish(std::move(states), compute, hooks);
  if (normed) show(observer.on_hidden_states, layers);
  for (std::size_t at = 0; at < caches.size(); ++at) caches[at].add(sequences[at]);
  return states;
}

std::vector<float> ForwardPass::mean_position_embedding() const {
  return attnscope::mean_position_embedding(weights_);
}

Matrix<float> ForwardPass::embed_alone(const TokenIds& ids, std::span<const float> place,
                                       const Compute& compute) const {
  check_ids(ids);
  return attnscope::embed_alone(model_.spec(), weights_, ids, place, compute);
}

Matrix<float> ForwardPass::finish(Matrix<float> stream, const Compute& compute) const {
  return finish(std::move(stream), compute, HookCalls());
}

Matrix<float> ForwardPass::finish(Matrix<float> stream, const Compute& compute,
                                  const HookCalls& hooks) const {
  if (weights_.last_norm) apply_norm(*weights_.last_norm, stream.view(), stream.view(), compute);
  if (weights_.last_norm) hooks.show(HookPoint::final_norm, 0, stream.view());
  if (weights_.last_projection != nullptr) {
    Matrix<float> narrow(stream.rows(), weights_.last_projection->weights.outputs());
    apply(*weights_.last_projection, stream.view(), {}, narrow.view(), compute);
    stream = std::move(narrow);
  }
  check_states(weights_, stream.view(), "the last norm");
  return stream;
}

bool ForwardPass::may_start_between(bool remembers) const {
  const ModelSpec& spec = model_.spec();
  return std::none_of(spec.key_values.begin(), spec.key_values.end(),
                      [](const KeyValueSharing& sharing) { return sharing.from.has_value(); }) &&
         std::none_of(weights_.layers.begin(), weights_.layers.end(), [&](const auto& layer) {
           return layer.input || layer.convolution || layer.own_input || layer.altup ||
                  layer.block || (layer.cross && !remembers);
         });
}

Error needs_source(const Model& decoder) {
  return {ErrorKind::unsupported,
          {.problem = verbatim(decoder.name()) +
                      " needs a source: its cross-attention reads the encoder output"}};
}

std::uint64_t run_bytes(const ModelSpec& spec, std::int64_t sequences, std::int64_t tokens) {
  const Dimensions dimensions = largest_dimensions(spec);
  const HeadShape& heads = dimensions.heads;
  const auto size = [](std::int64_t count) { return static_cast<double>(count); };
  const double rows = size(sequences) * size(tokens);
  // Worst case, all rows choose one expert: scores, sums, its input and output, and intermediate
  // values.
  double of_experts = 0;
  if (dimensions.experts > 0) {
    of_experts = size(dimensions.experts) + 3 * size(dimensions.width) +
                 2 * size(dimensions.expert_width) + size(dimensions.shared_width);
  }
  const double of_row = 4 * size(dimensions.width) + size(dimensions.mlp_width) +
                        size(heads.total_dim(Role::query)) + size(heads.total_dim(Role::key)) +
                        2 * size(heads.total_dim(Role::value) + heads.total_dim(Role::output)) +
                        of_experts + size(mla_row_size(dimensions)) + size(kept_row_size(spec)) +
                        size(selection_row_size(spec)) +
                        (dimensions.mixers == nullptr ? 0 : size(dimensions.mixers->row));
  const bool selects = tokens > kept_keys(spec).value_or(tokens);
  const double maps =
      size(sequences) * (map_numbers(spec, tokens) + (selects ? size(tokens) * size(tokens) : 0));
  const double bytes = sizeof(float) * (rows * (of_row + window_row_size(spec)) + maps);
  constexpr double kMax = 1e18;
  return static_cast<std::uint64_t>(std::min(bytes, kMax));
}

std::uint64_t run_bytes(const Model& model, std::int64_t sequences, std::int64_t tokens,
                        std::int64_t source) {
  const std::uint64_t own = run_bytes(
      is_of_decoder(model) ? stack_of(model, "decoder").spec() : model.spec(), sequences, tokens);
  const Model* encoder = is_of_decoder(model) ? model.sibling("encoder") : nullptr;
  if (encoder == nullptr) return own;
  const HeadShape& heads = model.dimensions().heads;
  const auto size = [](std::int64_t count) { return static_cast<double>(count); };
  const double of_source = size(model.dimensions().width) + size(heads.total_dim(Role::key)) +
                           size(heads.total_dim(Role::value));
  const double across = sizeof(float) * size(sequences) * size(source) *
                        (of_source + size(heads.heads) * size(tokens));
  const auto together = static_cast<double>(own) +
                        static_cast<double>(run_bytes(encoder->spec(), sequences, source)) + across;
  constexpr double kMax = 1e18;
  return static_cast<std::uint64_t>(std::min(together, kMax));
}

}  // namespace attnscope
