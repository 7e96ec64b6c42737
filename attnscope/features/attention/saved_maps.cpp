#include "attnscope/features/attention/saved_maps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/attention/run.h"
#include "attnscope/forward/patch_embedding.h"

namespace attnscope {
namespace {

using Take = std::function<void(std::span<const float>)>;

/// Calls visit() with a map of a text or of a whole image.
void visit_map(const LayerMaps& layer, std::int64_t input, std::int64_t head,
               const std::function<void(MatrixView<const float>)>& visit) {
  if (layer.windows.empty()) return visit(layer.map(input, head));
  const Matrix<float> whole = layer.map_of_image(input, head);
  visit(whole.view());
}

/// Returns the maps of the first sequence, (H, T, T) or (H, T, S).
std::vector<float> first_maps(const LayerMaps& layer) {
  std::vector<float> maps;
  for (std::int64_t head = 0; head < layer.heads; ++head) {
    visit_map(layer, 0, head, [&](MatrixView<const float> map) {
      if (head == 0) maps.reserve(static_cast<std::size_t>(layer.heads * map.rows * map.cols));
      for (std::int64_t query = 0; query < map.rows; ++query) {
        const float* weights = map.data + query * map.row_stride;
        maps.insert(maps.end(), weights, weights + map.cols);
      }
    });
  }
  return maps;
}

BatchInputs first_of(BatchInputs all) {
  const auto cut = [](auto& list) { list = list.first(std::min(list.size(), std::size_t{1})); };
  cut(all.tokens);
  cut(all.media_inputs);
  cut(all.sources);
  return all;
}

void check_memory(const Model& model, const SavedMapsRequest& request, const Context& context) {
  const std::int64_t tokens = request.map_rows(model), keys = request.map_columns(model);
  std::optional<std::uint64_t> bytes = sizeof(double);
  for (const std::uint64_t size :
       {static_cast<std::uint64_t>(request.layers.size()),
        static_cast<std::uint64_t>(request.heads(model)), static_cast<std::uint64_t>(tokens),
        static_cast<std::uint64_t>(keys)}) {
    if (bytes) bytes = checked_mul(*bytes, size);
  }
  if (bytes && *bytes <= context.memory_bytes) return;
  throw Error(
      ErrorKind::usage,
      {.parameter = "maps",
       .problem = "the mean of the maps needs " +
                  (bytes ? std::to_string(*bytes) + " bytes" : "too many bytes") +
                  " of memory, but the {memory} limit is " + std::to_string(context.memory_bytes),
       .hint = "select fewer {layers}, or pass {maps_of} first"});
}

/// Adds a layer's maps to the sums of each head, in the order of the sequences.
void add(const LayerMaps& layer, std::vector<std::vector<double>>& heads, const Compute& compute) {
  heads.resize(static_cast<std::size_t>(layer.heads));
  run_parts(compute, heads.size(), [&](std::size_t head) {
    std::vector<double>& sums = heads[head];
    for (std::int64_t input = 0; input < layer.inputs(); ++input) {
      visit_map(layer, input, static_cast<std::int64_t>(head), [&](MatrixView<const float> map) {
        sums.resize(static_cast<std::size_t>(map.rows * map.cols));
        double* sum = sums.data();
        for (std::int64_t query = 0; query < map.rows; ++query) {
          for (std::int64_t key = 0; key < map.cols; ++key) *sum++ += map(query, key);
        }
      });
    }
  });
}

}  // namespace

BatchInputs SavedMapsRequest::inputs() const {
  const BatchInputs all = {.tokens = sequences, .media_inputs = media_inputs, .sources = sources};
  return mean ? all : first_of(all);
}

void SavedMapsRequest::check_layers(const Model& model) const {
  const ModelSpec& spec = model.spec();
  for (const std::int64_t layer : layers) {
    const std::int64_t first = layers.front();
    if (merges_before(spec, layer) == merges_before(spec, first) &&
        spec.dimensions_of(layer).heads.heads == heads(model)) {
      continue;
    }
    throw Error(ErrorKind::usage, {.parameter = "maps",
                                   .problem = "the maps of layers " + std::to_string(first) +
                                              " and " + std::to_string(layer) + " of " +
                                              verbatim(model.name()) + " differ in size",
                                   .hint = "select {layers} of one stage"});
  }
}

std::int64_t SavedMapsRequest::heads(const Model& model) const {
  return model.spec().dimensions_of(layers.empty() ? 0 : layers.front()).heads.heads;
}

std::int64_t SavedMapsRequest::map_rows(const Model& model) const {
  const std::int64_t merges = layers.empty() ? 0 : merges_before(model.spec(), layers.front());
  if (merges == 0) return rows_of(model, inputs());
  PatchGrid grid = grid_of_image(model, media_inputs.front());
  for (std::int64_t merge = 0; merge < merges; ++merge) grid = merged_grid(grid);
  return grid.length();
}

std::int64_t SavedMapsRequest::map_columns(const Model& model) const {
  return model.stack() == "cross" ? source_rows_of(model, inputs()) : map_rows(model);
}

void visit_saved_maps(const Model& model, const SavedMapsRequest& request, const Context& context,
                      const std::function<void(std::span<const float>)>& take) {
  if (request.mean) check_memory(model, request, context);
  const ReadyModels ready(std::span(&model, 1), context);
  const std::vector<ModelSource> models = ready.sources();
  const BatchInputs inputs = request.inputs();
  check_inputs(ready.pass(0), inputs);
  Plan plan{.analysis = &attention_analysis()};
  add_batches(plan, 0, model, inputs, request.layers);

  LentTeam team(context);
  const Compute compute = team.compute();
  if (!request.mean) {
    return run_batch(plan.items.front(), models.front(), compute,
                     [&](const LayerMaps& layer) { take(first_maps(layer)); });
  }
  std::map<std::int64_t, std::vector<std::vector<double>>> sums;
  for (const WorkItem& item : plan.items) {
    run_batch(item, models.front(), compute,
              [&](const LayerMaps& layer) { add(layer, sums[layer.layer], compute); });
  }
  const auto count =
      static_cast<double>(std::max(request.sequences.size(), request.media_inputs.size()));
  std::vector<float> means;
  for (const auto& [layer, of_layer] : sums) {
    means.clear();
    for (const std::vector<double>& of_head : of_layer) {
      for (const double sum : of_head) means.push_back(static_cast<float>(sum / count));
    }
    take(means);
  }
}

SavedMaps::SavedMaps(const Model& model, SavedMapsRequest request)
    : model_(model), request_(std::move(request)) {}

Context SavedMaps::watching(const Context& context) {
  Context out = context;
  if (fits_in(context)) out.watchers.push_back(this);
  return out;
}

void SavedMaps::give(const Context& context, const Take& take) {
  if (held_.size() != request_.layers.size())
    return visit_saved_maps(model_, request_, context, take);
  for (const std::vector<float>& maps : std::exchange(held_, {})) take(maps);
}

/// Small compared with the memory of a run, so it is not included in the estimate.
bool SavedMaps::fits_in(const Context& context) const {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;
  const std::int64_t tokens = request_.map_rows(model_);
  const auto keys = static_cast<std::uint64_t>(request_.map_columns(model_));
  const auto heads = static_cast<std::uint64_t>(request_.heads(model_));
  const auto of_map = checked_mul(static_cast<std::uint64_t>(tokens), keys * sizeof(float));
  const auto bytes = of_map ? checked_mul(*of_map, heads * request_.layers.size()) : std::nullopt;
  return bytes && *bytes <= std::min(kMaxBytes, context.memory_bytes / 4);
}

/// Only if the first sequence is alone in its batch: other sequences may change the last digits of
/// its maps, and visit_saved_maps() runs it alone.
void SavedMaps::on_maps(const WorkItem& batch, const LayerMaps& maps) {
  const bool alone = batch.batch->first == 0 && batch.batch->count() == 1;
  const auto& layers = request_.layers;
  if (alone && std::binary_search(layers.begin(), layers.end(), maps.layer)) {
    held_.push_back(first_maps(maps));
  }
}

}  // namespace attnscope
