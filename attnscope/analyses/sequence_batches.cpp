#include "attnscope/analyses/sequence_batches.h"

#include <algorithm>
#include <optional>

#include "attnscope/analyses/estimates.h"
#include "attnscope/core/text.h"
#include "attnscope/forward/sound_embedding.h"
#include "attnscope/store/content_hash.h"
#include "attnscope/store/record_text.h"

namespace attnscope {
namespace {

/// Of a view, with all that lies between its elements.
TensorMatrix as_one_row(const TensorView& tensor) {
  const std::int64_t count = tensor.strides.empty()
                                 ? tensor.element_count()
                                 : std::ssize(tensor.bytes) * 8 / dtype_info(tensor.dtype).bits;
  return {.tensor = tensor,
          .rows = 1,
          .cols = count,
          .row_stride = count,
          .block_rows = 1,
          .block_stride = count};
}

}  // namespace

std::int64_t sequences_at_once(std::int64_t tokens) {
  constexpr std::int64_t kRowsOfBatch = 512;
  return std::max<std::int64_t>(1, kRowsOfBatch / tokens);
}

void add_batches(Plan& plan, std::size_t model, std::span<const TokenIds> sequences,
                 const std::vector<std::int64_t>& layers) {
  const auto each = static_cast<std::size_t>(sequences_at_once(std::ssize(sequences.front())));
  for (std::size_t first = 0; first < sequences.size(); first += each) {
    const auto batch = sequences.subspan(first, std::min(each, sequences.size() - first));
    plan.add(model, std::nullopt).batch = SequenceBatch{.first = static_cast<std::int64_t>(first),
                                                        .tokens = {batch.begin(), batch.end()},
                                                        .layers = layers};
  }
}

void add_batches(Plan& plan, std::size_t model, std::span<const Signal> images, std::int64_t length,
                 const std::vector<std::int64_t>& layers) {
  const auto each = static_cast<std::size_t>(sequences_at_once(length));
  for (std::size_t first = 0; first < images.size(); first += each) {
    const auto batch = images.subspan(first, std::min(each, images.size() - first));
    plan.add(model, std::nullopt).batch = SequenceBatch{.first = static_cast<std::int64_t>(first),
                                                        .signals = {batch.begin(), batch.end()},
                                                        .layers = layers};
  }
}

std::string signals_hash(std::span<const Signal> signals) {
  std::string all;
  for (const Signal& signal : signals) {
    all += content_hash(record_text({{"shape", signal.shape}}));
    all += content_hash(std::as_bytes(std::span(signal.values)));
  }
  return content_hash(all);
}

std::string tokens_hash(const std::vector<std::vector<TokenIds>>& sequences) {
  Value::List models;
  for (const auto& of_model : sequences) {
    Value::List ids;
    for (const TokenIds& sequence : of_model) ids.emplace_back(sequence);
    models.emplace_back(std::move(ids));
  }
  return content_hash(record_text({{"tokens", std::move(models)}}));
}

ReadyModels::ReadyModels(std::span<const Model> models, const Context& context)
    : models_(models), rest_(context) {
  const Compute compute{.kernels = context.kernels, .stop = context.stop};
  for (const Model& model : models) {
    const std::uint64_t copy =
        context.compute_elsewhere ? 0 : copied_weights_bytes(model, rest_.memory_bytes);
    rest_.memory_bytes -= copy;
    passes_.emplace_back(model, /*copy_weights=*/copy > 0, compute);
  }
}

std::vector<ModelSource> ReadyModels::sources() const {
  std::vector<ModelSource> sources = sources_of(models_);
  for (std::size_t model = 0; model < sources.size(); ++model) {
    sources[model].forward = &passes_[model];
    if (rest_.on_maps) sources[model].on_maps = &rest_.on_maps;
  }
  return sources;
}

void run_batch(const WorkItem& item, const ModelSource& source, const Compute& compute,
               const std::function<void(const LayerMaps&)>& look) {
  const SequenceBatch& batch = *item.batch;
  std::optional<ForwardPass> own;
  if (source.forward == nullptr) own.emplace(*source.model, /*copy_weights=*/false, compute);
  const ForwardPass& pass = own ? *own : *source.forward;
  const auto show = [&](const LayerMaps& maps) {
    look(maps);
    if (source.on_maps != nullptr) (*source.on_maps)(item, maps);
  };
  const ForwardObserver observer{.on_maps = show,
                                 .wants_maps =
                                     [&](std::int64_t layer) {
                                       return std::binary_search(batch.layers.begin(),
                                                                 batch.layers.end(), layer);
                                     },
                                 .end_after_maps_of = batch.layers.back()};
  if (batch.signals.empty()) {
    pass.run(batch.tokens, observer, compute);
  } else {
    pass.run(batch.signals, observer, compute);
  }
}

Cost batch_cost(const WorkItem& item, const ModelSource& source) {
  const SequenceBatch& batch = *item.batch;
  const std::int64_t sequences = batch.count();
  const std::int64_t tokens = batch.signals.empty()
                                  ? std::ssize(batch.tokens.front())
                                  : rows_of_signal(*source.model, batch.signals.front());
  double parameters = 0;  // of all layers' products
  const Dimensions dimensions = largest_dimensions(source.model->spec());
  for (const Role role : kProjections) {
    if (!source.model->describes(role) || !source.model->is_stored(role)) continue;
    const auto [rows, cols] = canonical_shape(dimensions, role);
    parameters += static_cast<double>(rows) * static_cast<double>(cols);
  }
  for (const LayerSpec& layer : source.model->spec().layers) {
    if (!layer.experts) continue;
    const std::int64_t wide = layer.experts->chosen * dimensions.expert_width;
    parameters += 3 * static_cast<double>(wide) * static_cast<double>(dimensions.width);
    break;
  }
  const double rows = static_cast<double>(sequences) * static_cast<double>(tokens);
  const double maps = 4 * rows * static_cast<double>(tokens) *
                      static_cast<double>(dimensions.heads.total_dim(Role::query));
  return {.flops = static_cast<double>(batch.layers.back() + 1) * (2 * rows * parameters + maps),
          .memory_bytes = run_bytes(source.model->spec(), sequences, tokens)};
}

void add_batch_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  const SequenceBatch& batch = *item.batch;
  Value::List tokens;
  for (const TokenIds& sequence : batch.tokens) tokens.emplace_back(sequence);
  if (!batch.signals.empty()) inputs.add("signals", signals_hash(batch.signals));
  inputs.add("tokens", std::move(tokens))
      .add("layers", batch.layers)
      .add("config", content_hash(source.model->spec().text));
  Value::List names;  // the same bytes under other names, or cut otherwise, are another model
  for (const CheckpointTensor& tensor : source.checkpoint->tensors()) {
    if (dtype_info(tensor.view.dtype).kind != DTypeClass::real) continue;
    const Shape& strides = tensor.view.strides;
    names.emplace_back(strides.empty() ? tensor.name : tensor.name + shape_text(strides));
    inputs.add_matrix(*source.checkpoint, tensor, as_one_row(tensor.view));
  }
  inputs.add("names", content_hash(record_text({{"names", std::move(names)}})));
}

}  // namespace attnscope
