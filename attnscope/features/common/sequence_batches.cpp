#include "attnscope/features/common/sequence_batches.h"

#include <algorithm>

#include "attnscope/base/content_hash.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/edits_option.h"
#include "attnscope/forward/audio_embedding.h"
#include "attnscope/rows/lossless_json.h"

namespace attnscope {
namespace {

/// A tensor as a single row, including any gaps between the elements of a view.
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

/// Whether the model is an encoder that has a decoder.
bool has_decoder(const Model& model) {
  return model.stack() == "encoder" && model.sibling("decoder") != nullptr;
}

/// Adds the types, texts and message roles of tokens, if any sequence has them.
template <class Into>
void add_facts_of_tokens(std::span<const TokenIds> sequences, Into& into) {
  const auto add = [&](const char* name, auto of, const auto& value_of) {
    const bool any = std::any_of(sequences.begin(), sequences.end(),
                                 [&](const TokenIds& ids) { return !(ids.*of).empty(); });
    if (!any) return;
    Value::List all;
    for (const TokenIds& ids : sequences) all.emplace_back(value_of(ids.*of));
    into.add(name, std::move(all));
  };
  const auto numbers = [](const std::vector<std::int64_t>& list) { return Value(list); };
  add("types", &TokenIds::types, numbers);
  add("texts", &TokenIds::texts, numbers);
  add("roles", &TokenIds::roles, [](const std::vector<std::string>& list) {
    return Value(Value::List(list.begin(), list.end()));
  });
}

BatchInputs inputs_of(const SequenceBatch& batch) {
  return {.tokens = batch.tokens,
          .media_inputs = batch.media_inputs,
          .sources = batch.sources,
          .scored = batch.scored};
}

}  // namespace

TextRows text_rows(std::span<const TokenIds> texts) {
  TextRows out;
  for (const TokenIds& ids : texts) {
    out.all += std::ssize(ids);
    out.longest = std::max(out.longest, std::ssize(ids));
  }
  return out;
}

std::int64_t sequences_at_once(std::int64_t tokens) {
  constexpr std::int64_t kRowsOfBatch = 512;
  return std::max<std::int64_t>(1, kRowsOfBatch / tokens);
}

std::int64_t rows_of(const Model& model, const BatchInputs& inputs) {
  if (!inputs.tokens.empty()) return text_rows(inputs.tokens).longest;
  return inputs.media_inputs.empty() ? 0 : rows_of_media(model, inputs.media_inputs.front());
}

std::int64_t source_rows_of(const Model& model, const BatchInputs& inputs) {
  if (!inputs.sources.empty()) return text_rows(inputs.sources).longest;
  const Model* encoder = model.sibling("encoder");
  if (inputs.tokens.empty() || inputs.media_inputs.empty() || encoder == nullptr) return 0;
  return rows_of_media(*encoder, inputs.media_inputs.front());
}

void add_batches(Plan& plan, std::size_t index, const Model& model, const BatchInputs& inputs,
                 const std::vector<std::int64_t>& layers, BatchOf of) {
  const auto are_alike = [&](std::size_t one, std::size_t other) {
    if (of == BatchOf::any) return true;
    for (const auto& sequences : {inputs.tokens, inputs.sources}) {
      if (!sequences.empty() && sequences[one].size() != sequences[other].size()) return false;
      if (!sequences.empty() && (sequences[one].texts != sequences[other].texts ||
                                 sequences[one].roles != sequences[other].roles)) {
        return false;
      }
    }
    return inputs.scored.empty() || inputs.scored[one] == inputs.scored[other];
  };
  const std::size_t all = std::max(inputs.tokens.size(), inputs.media_inputs.size());
  const std::int64_t longest = std::max(rows_of(model, inputs), source_rows_of(model, inputs));
  const auto each = static_cast<std::size_t>(sequences_at_once(longest));
  for (std::size_t first = 0, end = 0; first < all; first = end) {
    while (end < std::min(all, first + each) && are_alike(first, end)) ++end;
    const auto part = [&](const auto& list) {
      const auto own = list.empty() ? list : list.subspan(first, end - first);
      return std::vector(own.begin(), own.end());
    };
    plan.add(index, std::nullopt).batch = SequenceBatch{.first = static_cast<std::int64_t>(first),
                                                        .tokens = part(inputs.tokens),
                                                        .media_inputs = part(inputs.media_inputs),
                                                        .layers = layers,
                                                        .sources = part(inputs.sources),
                                                        .scored = part(inputs.scored)};
  }
}

std::string media_hash(std::span<const MediaInput> media_inputs) {
  std::string all;
  for (const MediaInput& media_input : media_inputs) {
    all += content_hash(record_text({{"shape", media_input.shape}}));
    all += content_hash(std::as_bytes(std::span(media_input.values)));
  }
  return content_hash(all);
}

std::string tokens_hash(const std::vector<std::vector<TokenIds>>& sequences,
                        const std::vector<std::vector<TokenIds>>& sources,
                        const std::vector<std::vector<TokenIds>>& scored) {
  const auto list_of = [](const std::vector<std::vector<TokenIds>>& all) {
    Value::List models;
    for (const auto& of_model : all) {
      Value::List ids;
      for (const TokenIds& sequence : of_model) ids.emplace_back(sequence);
      models.emplace_back(std::move(ids));
    }
    return models;
  };
  Record record = {{"tokens", list_of(sequences)}};
  Value::List facts;  // of pairs
  bool has_facts = false;
  for (const auto& of_model : sequences) {
    Record own;
    add_facts_of_tokens(std::span(of_model), own);
    has_facts = has_facts || !own.fields().empty();
    facts.emplace_back(std::move(own));
  }
  if (has_facts) record.add("pairs", std::move(facts));
  const auto has_any = [](const std::vector<std::vector<TokenIds>>& all) {
    return std::any_of(all.begin(), all.end(),
                       [](const auto& of_model) { return !of_model.empty(); });
  };
  if (has_any(sources)) record.add("sources", list_of(sources));
  if (has_any(scored)) record.add("scored", list_of(scored));
  return content_hash(record_text(record));
}

ReadyModels::ReadyModels(std::span<const Model> models, const Context& context,
                         bool predicts_tokens)
    : rest_(context), models_(models) {
  const Compute compute{.kernels = context.kernels, .stop = context.stop};
  for (const Model& given : models) {
    const bool decodes = predicts_tokens && has_decoder(given);
    const Model& model = decodes ? decoders_.emplace_back(given.beside("decoder")) : given;
    // Cross-attention is run by the pass of its decoder.
    const std::string stack = model.stack() == "cross" ? "decoder" : model.stack();
    const Model* made_of = model.sibling(stack);
    std::shared_ptr<const ForwardPass> pass = pass_of(made_of);
    if (pass == nullptr) {
      const std::uint64_t copy =
          context.compute_elsewhere ? 0 : copied_weights_bytes(model, rest_.memory_bytes);
      rest_.memory_bytes -= copy;
      pass = std::make_shared<const ForwardPass>(
          model, /*copy_weights=*/copy > 0, compute,
          stack == "decoder" ? pass_of(model.sibling("encoder")) : nullptr);
    }
    stacks_.push_back(made_of);
    passes_.push_back(std::make_unique<ReadyPass>());
    passes_.back()->pass = std::move(pass);
  }
}

std::shared_ptr<const ForwardPass> ReadyModels::pass_of(const Model* stack) const {
  const auto found = std::find(stacks_.begin(), stacks_.end(), stack);
  if (stack == nullptr || found == stacks_.end()) return nullptr;
  return passes_[static_cast<std::size_t>(found - stacks_.begin())]->pass;
}

std::vector<ModelSource> ReadyModels::sources() const {
  std::vector<ModelSource> sources = sources_of(models_);
  for (std::size_t model = 0; model < sources.size(); ++model) {
    sources[model].shared = passes_[model].get();
    sources[model].watchers = rest_.watchers;
  }
  return sources;
}

ItemPass::ItemPass(const ModelSource& source, const Compute& compute, bool predicts_tokens) {
  if (source.shared != nullptr) {
    shared_ = static_cast<const ReadyPass*>(source.shared)->pass.get();
    return;
  }
  if (predicts_tokens && has_decoder(*source.model)) decoder_ = source.model->beside("decoder");
  own_.emplace(decoder_ ? *decoder_ : *source.model, /*copy_weights=*/false, compute);
}

void run_batch(const WorkItem& item, const ModelSource& source, const Compute& compute,
               const std::function<void(const LayerMaps&)>& look,
               const std::function<void(const ForwardPass&, ForwardObserver&)>& extend) {
  const SequenceBatch& batch = *item.batch;
  const ItemPass ready(source, compute);
  const ForwardPass& pass = *ready;
  std::vector<PassWatcher*> watchers, of_routing;
  for (BatchWatcher* watcher : source.watchers) {
    watchers.push_back(static_cast<PassWatcher*>(watcher));
    if (watchers.back()->wants_routing()) of_routing.push_back(watchers.back());
  }
  const auto show = [&](const LayerMaps& maps) {
    look(maps);
    for (PassWatcher* watcher : watchers) watcher->on_maps(item, maps);
  };
  const auto wants = [&](std::int64_t layer) {
    return std::binary_search(batch.layers.begin(), batch.layers.end(), layer);
  };
  ForwardObserver observer{.end_after_maps_of = batch.layers.back()};
  observer.ends_across = source.model->stack() == "cross";
  (observer.ends_across ? observer.on_cross_maps : observer.on_maps) = show;
  (observer.ends_across ? observer.wants_cross_maps : observer.wants_maps) = wants;
  if (extend) extend(pass, observer);
  if (!of_routing.empty()) {
    observer.end_after_maps_of.reset();
    observer.end_after_layer.reset();
    observer.on_routing = [&](const LayerRouting& routing) {
      for (PassWatcher* watcher : of_routing) watcher->on_routing(item, routing);
    };
  }
  RunEdits edits(pass, source.watchers, compute, observer.hooks);  // of commands that take edits
  observer.hooks = edits.hooks();
  run_inputs(pass, inputs_of(batch), observer, compute);
}

void check_inputs(const ForwardPass& pass, const BatchInputs& inputs) {
  const ForwardPass& reads = pass.encoder() == nullptr ? pass : *pass.encoder();
  for (const TokenIds& sequence : inputs.tokens) pass.check(sequence);
  for (const TokenIds& source : inputs.sources) reads.check(source);
  for (const MediaInput& media_input : inputs.media_inputs) reads.length_of(media_input);
}

void run_inputs(const ForwardPass& pass, const BatchInputs& inputs, const ForwardObserver& observer,
                const Compute& compute) {
  if (inputs.tokens.empty()) {
    pass.run(inputs.media_inputs, observer, compute);
  } else if (inputs.sources.empty() && inputs.media_inputs.empty()) {
    pass.run(inputs.tokens, observer, compute);
  } else {
    if (pass.encoder() == nullptr) {
      throw Error(ErrorKind::usage, {.problem = pass.model().name() + " has no encoder"});
    }
    const EncoderOutput encoder_output = inputs.sources.empty()
                                             ? pass.encode(inputs.media_inputs, {}, compute)
                                             : pass.encode(inputs.sources, {}, compute);
    pass.run(inputs.tokens, observer, compute, {}, &encoder_output);
  }
}

double layer_parameters(const Model& model) {
  double parameters = 0;
  const Dimensions dimensions = largest_dimensions(model.spec());
  for (const Role role : kProjections) {
    if (!model.describes(role) || !model.is_stored(role)) continue;
    const auto [rows, cols] = canonical_shape(dimensions, role);
    parameters += static_cast<double>(rows) * static_cast<double>(cols);
  }
  for (const LayerSpec& layer : model.spec().layers) {
    if (!layer.experts) continue;
    const std::int64_t wide = layer.experts->chosen * dimensions.expert_width;
    parameters += 3 * static_cast<double>(wide) * static_cast<double>(dimensions.width);
    break;
  }
  return parameters;
}

Cost batch_cost(const WorkItem& item, const ModelSource& source) {
  const SequenceBatch& batch = *item.batch;
  const std::int64_t sequences = batch.count();
  const std::int64_t tokens = rows_of(*source.model, inputs_of(batch));
  const std::int64_t of_source = source_rows_of(*source.model, inputs_of(batch));
  const double parameters = layer_parameters(*source.model);
  const HeadShape heads = largest_dimensions(source.model->spec()).heads;
  const double rows = static_cast<double>(sequences) * static_cast<double>(tokens + of_source);
  const double maps =
      4 * rows * static_cast<double>(tokens) * static_cast<double>(heads.total_dim(Role::query));
  return {.flops = static_cast<double>(batch.layers.back() + 1) * (2 * rows * parameters + maps),
          .memory_bytes = run_bytes(*source.model, sequences, tokens, of_source)};
}

void add_batch_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  const SequenceBatch& batch = *item.batch;
  Value::List tokens;
  for (const TokenIds& sequence : batch.tokens) tokens.emplace_back(sequence);
  add_facts_of_tokens(batch.tokens, inputs);
  if (!batch.media_inputs.empty()) inputs.add("signals", media_hash(batch.media_inputs));
  if (!batch.sources.empty()) {
    Value::List sources;
    for (const TokenIds& sequence : batch.sources) sources.emplace_back(sequence);
    inputs.add("sources", std::move(sources));
  }
  if (!batch.scored.empty()) {
    Value::List scored;
    for (const TokenIds& flags : batch.scored) scored.emplace_back(flags);
    inputs.add("scored", std::move(scored));
  }
  if (source_rows_of(*source.model, inputs_of(batch)) > 0) {
    inputs.add("stack", source.model->stack());
  }
  inputs.add("tokens", std::move(tokens)).add("layers", batch.layers);
  add_whole_model(inputs, source);
}

void add_whole_model(ItemInputs& inputs, const ModelSource& source) {
  inputs.add("config", content_hash(source.model->spec().text));
  Value::List names;  // the same bytes with other names or strides are another model
  for (const CheckpointTensor& tensor : source.checkpoint->tensors()) {
    if (dtype_info(tensor.view.dtype).kind != DTypeClass::real) continue;
    const Shape& strides = tensor.view.strides;
    names.emplace_back(strides.empty() ? tensor.name : tensor.name + shape_text(strides));
    inputs.add_matrix(*source.checkpoint, tensor, as_one_row(tensor.view));
  }
  inputs.add("names", content_hash(record_text({{"names", std::move(names)}})));
}

}  // namespace attnscope
