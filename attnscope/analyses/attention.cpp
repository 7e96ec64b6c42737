#include "attnscope/analyses/attention.h"

#include <map>

#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analysis/attention_map.h"
#include "attnscope/analysis/attention_means.h"
#include "attnscope/analysis/even_attention.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/store/content_hash.h"
#include "attnscope/store/record_text.h"

namespace attnscope {
namespace {

/// What stands for "none" in an array, where every value is a share.
constexpr double kNone = -1;

/// Measures of one layer's maps, sequence by sequence and head by head, as arrays (sequences,
/// heads) that a store can keep.
class LayerRecord {
 public:
  LayerRecord(std::int64_t heads, double energy) : heads_(heads), energy_(energy) {}

  void add(const AttentionMapMeasures& map) {
    energy_rank_.push_back(map.energy_rank);
    columns_.push_back(map.columns);
    first_column_share_.push_back(map.first_column_share.value_or(kNone));
    entropy_.push_back(map.entropy);
    sink_mass_.push_back(map.sink_mass);
    previous_token_.push_back(map.previous_token.value_or(kNone));
    diagonal_.push_back(map.diagonal);
    distance_.push_back(map.distance);
    for (std::size_t at = 0; at < kTopColumns; ++at) {
      top_columns_.push_back(at < map.top_columns.size() ? map.top_columns[at] : -1);
    }
  }

  Record take(std::int64_t layer) && {
    Record record = {{"layer", layer}, {"energy", energy_}};
    const auto add = [&](const char* name, auto values, std::vector<std::int64_t> shape) {
      record.add(name, Array{std::move(shape), std::move(values)});
    };
    const std::int64_t maps = std::ssize(energy_rank_);
    const std::vector<std::int64_t> shape = {maps / heads_, heads_};
    add("energy_rank", std::move(energy_rank_), shape);
    add("columns", std::move(columns_), shape);
    add("first_column_share", std::move(first_column_share_), shape);
    add("entropy", std::move(entropy_), shape);
    add("sink_mass", std::move(sink_mass_), shape);
    add("previous_token", std::move(previous_token_), shape);
    add("diagonal", std::move(diagonal_), shape);
    add("distance", std::move(distance_), shape);
    add("top_columns", std::move(top_columns_), {maps, static_cast<std::int64_t>(kTopColumns)});
    return record;
  }

 private:
  std::int64_t heads_;
  double energy_;
  std::vector<std::int64_t> energy_rank_, columns_, top_columns_;
  std::vector<double> first_column_share_, entropy_, sink_mass_, previous_token_, diagonal_,
      distance_;
};

/// Of every sequence and head of a layer alike: how many keys its ranks are of, and what even
/// attention has.
struct LayerNulls {
  std::int64_t keys = 0, columns = 0;
  double sink_mass = 0, previous_token = kNone;
};

LayerNulls nulls_of(const EvenAttention& even, const AttentionMapOptions& options) {
  return {.keys = even.tokens - (options.without_first ? 1 : 0),
          .columns = columns(even, options.energy, options.without_first),
          .sink_mass = sink_mass(even),
          .previous_token = previous_token(even).value_or(kNone)};
}

void add_nulls(Record& record, const LayerNulls& nulls) {
  record.add("keys", nulls.keys)
      .add("null_columns", nulls.columns)
      .add("null_sink_mass", nulls.sink_mass)
      .add("null_previous_token", nulls.previous_token);
}

LayerNulls read_nulls(const Record& record) {
  return {.keys = expect<std::int64_t>(record, "keys"),
          .columns = expect<std::int64_t>(record, "null_columns"),
          .sink_mass = expect<double>(record, "null_sink_mass"),
          .previous_token = expect<double>(record, "null_previous_token")};
}

std::optional<double> value_of(double number) {
  return number == kNone ? std::nullopt : std::optional(number);
}

std::vector<Outcome> attention_outcomes(const WorkItem& item, const Source& source,
                                        const Compute& compute) {
  AttentionMapOptions options{.energy = expect<double>(item.parameters, "energy"),
                              .without_first = expect<bool>(item.parameters, "without_first")};
  const std::vector<LayerSpec>& layers = source.model->spec().layers;
  const std::int64_t tokens = std::ssize(item.batch->tokens.front());
  std::vector<Outcome> outcomes;
  run_batch(item, source, compute, [&](const LayerMaps& layer) {
    const MaskSpec& mask = layers[static_cast<std::size_t>(layer.layer)].attention.mask;
    options.causal = mask.causal;
    LayerRecord record(layer.heads, options.energy);
    for (const AttentionMapMeasures& map : measure_attention_maps(layer.maps, options, compute)) {
      record.add(map);
    }
    Record fields = std::move(record).take(layer.layer);
    add_nulls(fields, nulls_of({.tokens = tokens, .mask = mask_of(mask)}, options));
    outcomes.push_back({.fields = std::move(fields)});
  });
  return outcomes;
}

/// The measures of each head of each sequence, from what LayerRecord made.
void add_sequences(const Record& record, LayerSums& sums) {
  const auto ranks = expect_matrix<std::int64_t>(record, "energy_rank");
  const auto columns = expect_matrix<std::int64_t>(record, "columns");
  const auto top = expect_matrix<std::int64_t>(record, "top_columns");
  const auto numbers = [&](const char* name) { return expect_matrix<double>(record, name); };
  const auto shares = numbers("first_column_share"), entropy = numbers("entropy"),
             sink = numbers("sink_mass"), previous = numbers("previous_token"),
             diagonal = numbers("diagonal"), distance = numbers("distance");
  for (const auto& of : {shares, entropy, sink, previous, diagonal, distance}) {
    if (of.rows != ranks.rows || of.cols != ranks.cols) refuse_field("energy_rank");
  }
  if (columns.rows != ranks.rows || columns.cols != ranks.cols ||
      top.rows != ranks.rows * ranks.cols) {
    refuse_field("top_columns");
  }
  for (std::int64_t sequence = 0; sequence < ranks.rows; ++sequence) {
    std::vector<AttentionMapMeasures> maps;
    for (std::int64_t head = 0; head < ranks.cols; ++head) {
      AttentionMapMeasures& map = maps.emplace_back();
      map = {.energy_rank = ranks(sequence, head),
             .columns = columns(sequence, head),
             .first_column_share = value_of(shares(sequence, head)),
             .entropy = entropy(sequence, head),
             .sink_mass = sink(sequence, head),
             .previous_token = value_of(previous(sequence, head)),
             .diagonal = diagonal(sequence, head),
             .distance = distance(sequence, head)};
      for (std::int64_t at = 0; at < top.cols; ++at) {
        const std::int64_t column = top(sequence * ranks.cols + head, at);
        if (column >= 0) map.top_columns.push_back(column);
      }
    }
    sums.add(maps);
  }
}

void add_mean(Record& row, const std::string& name, const MeanWithError& value) {
  row.add(name, value.mean).add(name + "_error", value.standard_error);
}

/// Adds up batches and gives the rows of a model when its last one has come.
class AttentionRows {
 public:
  explicit AttentionRows(RowSink& sink) : sink_(sink) {}

  void add(const RowPlace& place, std::span<const Outcome> outcomes) {
    if (place.model != model_) finish();
    model_ = place.model;
    for (const Outcome& outcome : outcomes) {
      const auto layer = expect<std::int64_t>(outcome.fields, "layer");
      const auto ranks = expect_matrix<std::int64_t>(outcome.fields, "energy_rank");
      const auto [found, fresh] = layers_.try_emplace(layer, static_cast<std::size_t>(ranks.cols));
      add_sequences(outcome.fields, found->second.sums);
      found->second.sequences += ranks.rows;
      found->second.energy = expect<double>(outcome.fields, "energy");
      found->second.nulls = read_nulls(outcome.fields);
    }
  }

  void finish() {
    for (const auto& [layer, sums] : layers_) add_rows(layer, sums);
    layers_.clear();
    model_.clear();
  }

 private:
  struct Layer {
    explicit Layer(std::size_t heads) : sums(heads) {}
    LayerSums sums;
    std::int64_t sequences = 0;
    double energy = 0;
    LayerNulls nulls;
  };

  void add_rows(std::int64_t layer, const Layer& of_layer) {
    const LayerMeans means = of_layer.sums.means();
    const std::int64_t sequences = of_layer.sequences;
    std::int64_t number = 0;
    for (const HeadMeans& head : means.heads) {
      Record row = {
          {"model", model_}, {"layer", layer}, {"head", number++}, {"sequences", sequences}};
      add_mean(row, "energy_rank", head.energy_rank);
      add_mean(row, "columns", head.columns);
      row.add("top_columns", head.top_columns);
      add_mean(row, "first_column_share", head.first_column_share);
      add_mean(row, "entropy", head.entropy);
      add_mean(row, "sink_mass", head.sink_mass);
      row.add("null_sink_mass", of_layer.nulls.sink_mass);
      add_mean(row, "previous_token", head.previous_token);
      row.add("null_previous_token", value_of(of_layer.nulls.previous_token));
      add_mean(row, "diagonal", head.diagonal);
      add_mean(row, "mean_distance", head.distance);
      sink_.add_row(std::move(row));
    }
    Record row = {{"model", model_},
                  {"layer", layer},
                  {"head", Value()},
                  {"sequences", sequences},
                  {"max_rank", means.max_rank}};
    add_mean(row, "mean_max_rank", means.mean_max_rank);
    add_mean(row, "mean_columns", means.mean_columns);
    row.add("null_columns", of_layer.nulls.columns);
    const bool judged =
        of_layer.energy == kCollapsedEnergy && of_layer.nulls.keys >= kCollapsedKeys;
    row.add("collapsed", judged ? Value(means.collapsed) : Value());
    sink_.add_row(std::move(row));
  }

  RowSink& sink_;
  std::string model_;
  std::map<std::int64_t, Layer> layers_;
};

/// Stores keep the rows of each text apart by it: means of several would say nothing.
std::string hash_of(const std::vector<std::vector<TokenIds>>& sequences) {
  Value::List models;
  for (const auto& of_model : sequences) {
    Value::List ids;
    for (const TokenIds& sequence : of_model) ids.emplace_back(sequence);
    models.emplace_back(std::move(ids));
  }
  return content_hash(record_text({{"tokens", std::move(models)}}));
}

}  // namespace

const Analysis& attention_analysis() {
  static constexpr Analysis analysis = {.name = "attention",
                                        .command = "attention",
                                        .items = {"batch", "batches"},
                                        .takes_batches = true,
                                        .compute = attention_outcomes,
                                        .cost = batch_cost,
                                        .add_inputs = add_batch_inputs,
                                        .make_rows = gathered_rows<AttentionRows>};
  return analysis;
}

void run_attention(std::span<const Model> models, const AttentionRequest& request,
                   const Context& context, RowSink& sink) {
  Plan plan{.analysis = &attention_analysis(),
            .parameters = {{"energy", request.energy},
                           {"without_first", request.without_first},
                           {"layers", request.layers.parameter()},
                           {"tokens_hash", hash_of(request.sequences)}}};
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    for (const TokenIds& sequence : request.sequences[index]) ready.pass(index).check(sequence);
    add_batches(plan, index, request.sequences[index],
                request.layers.resolve(model.dimensions().layers, model.name()));
  }
  ReportHead head{.command = "attention", .parameters = request.text};
  for (const auto& [name, value] : plan.parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
