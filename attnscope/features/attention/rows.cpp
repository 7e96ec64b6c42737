#include "attnscope/features/attention/rows.h"

#include <algorithm>
#include <map>

#include "attnscope/features/attention/activations_of_batch.h"
#include "attnscope/features/attention/layer_means.h"
#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/rows/record.h"

namespace attnscope {
namespace {

/// Stands for a missing value in an array, where all values are shares.
constexpr double kNone = -1;

/// Measures of one layer's maps as arrays (sequences, heads), in the form of stores.
Record layer_record(std::int64_t layer, std::int64_t heads, double energy,
                    std::span<const AttentionMapMeasures> maps) {
  Record record = {{"layer", layer}, {"energy", energy}};
  const std::vector<std::int64_t> shape = {std::ssize(maps) / heads, heads};
  for (std::size_t at = 0; at < map_measures().size(); ++at) {
    const MapMeasure& measure = map_measures()[at];
    std::vector<double> numbers;
    for (const AttentionMapMeasures& map : maps) numbers.push_back(map.values[at].value_or(kNone));
    Array array{shape, std::vector<std::int64_t>(numbers.begin(), numbers.end())};
    if (!measure.whole) array.data = std::move(numbers);
    record.add(std::string(measure.name), std::move(array));
  }
  std::vector<std::int64_t> top_columns;
  for (const AttentionMapMeasures& map : maps) {
    for (std::size_t at = 0; at < kTopColumns; ++at) {
      top_columns.push_back(at < map.top_columns.size() ? map.top_columns[at] : -1);
    }
  }
  return record.add("top_columns", Array{{std::ssize(maps), static_cast<std::int64_t>(kTopColumns)},
                                         std::move(top_columns)});
}

/// Values that all sequences and heads of a layer share: the number of keys of its ranks, and the
/// values of uniform attention.
void add_uniform_baseline(Record& record, const UniformAttention& uniform,
                          const AttentionMapOptions& options) {
  const std::int64_t directions =
      std::min(uniform.queries.value_or(uniform.tokens), uniform.tokens);
  record.add("keys", directions - (options.exclude_first_token ? 1 : 0))
      .add("uniform_energy_columns", columns(uniform, options.energy, options.exclude_first_token));
  for (const MapMeasure& measure : map_measures()) {
    if (measure.of_uniform == nullptr) continue;
    record.add("uniform_" + std::string(measure.name), measure.of_uniform(uniform).value_or(kNone));
  }
}

std::optional<double> value_of(double number) {
  return number == kNone ? std::nullopt : std::optional(number);
}

/// The uniform values that add_uniform_baseline() added.
struct UniformMeasures {
  std::int64_t keys = 0, columns = 0;
  std::vector<std::optional<double>> of_uniform;  // in the order of map_measures()

  bool operator==(const UniformMeasures&) const = default;
};

/// Over sequences, whose lengths differ if texts were padded: the smallest number of keys, and mean
/// uniform values.
class UniformMeans {
 public:
  void add(const UniformMeasures& uniform, std::int64_t sequences) {
    if (parts_.empty() || parts_.back().uniform != uniform) parts_.push_back({uniform, 0});
    parts_.back().sequences += sequences;
  }

  std::int64_t keys() const {
    std::int64_t fewest = parts_.front().uniform.keys;
    for (const Part& part : parts_) fewest = std::min(fewest, part.uniform.keys);
    return fewest;
  }
  /// An integer if all sequences have the same value.
  Value columns() const {
    if (parts_.size() == 1) return parts_.front().uniform.columns;
    return mean([](const UniformMeasures& uniform) {
      return std::optional(static_cast<double>(uniform.columns));
    });
  }
  Value of_uniform(std::size_t measure) const {
    if (parts_.size() == 1) return parts_.front().uniform.of_uniform[measure];
    return mean([&](const UniformMeasures& uniform) { return uniform.of_uniform[measure]; });
  }

 private:
  struct Part {
    UniformMeasures uniform;
    std::int64_t sequences;
  };

  template <class Of>
  Value mean(const Of& of) const {
    RunningMean sum;
    for (const Part& part : parts_) {
      for (std::int64_t sequence = 0; sequence < part.sequences; ++sequence) {
        sum.add(of(part.uniform));
      }
    }
    return sum.result().mean;
  }

  std::vector<Part> parts_;
};

UniformMeasures read_uniform_baseline(const Record& record) {
  UniformMeasures uniform = {.keys = expect<std::int64_t>(record, "keys"),
                             .columns = expect<std::int64_t>(record, "uniform_energy_columns")};
  for (const MapMeasure& measure : map_measures()) {
    auto& value = uniform.of_uniform.emplace_back();
    if (measure.of_uniform == nullptr) continue;
    value = value_of(expect<double>(record, "uniform_" + std::string(measure.name)));
  }
  return uniform;
}

/// The measures of one sequence's maps, one per head.
using HeadMaps = std::vector<AttentionMapMeasures>;

/// Adds the values of this measure in `array` to the maps of all sequences.
template <class T>
void add_numbers(MatrixView<const T> array, const MapMeasure& measure,
                 std::vector<HeadMaps>& sequences) {
  if (array.rows != std::ssize(sequences)) refuse_field(measure.name);
  for (std::int64_t sequence = 0; sequence < array.rows; ++sequence) {
    HeadMaps& heads = sequences[static_cast<std::size_t>(sequence)];
    if (array.cols != std::ssize(heads)) refuse_field(measure.name);
    for (std::int64_t head = 0; head < array.cols; ++head) {
      const auto number = static_cast<double>(array(sequence, head));
      heads[static_cast<std::size_t>(head)].values.push_back(measure.whole ? std::optional(number)
                                                                           : value_of(number));
    }
  }
}

/// The content of an outcome from layer_record().
std::vector<HeadMaps> read_maps(const Record& record) {
  const auto ranks = expect_matrix<std::int64_t>(record, "energy_rank");
  const auto top = expect_matrix<std::int64_t>(record, "top_columns");
  if (top.rows != ranks.rows * ranks.cols) refuse_field("top_columns");
  std::vector<HeadMaps> sequences(static_cast<std::size_t>(ranks.rows),
                                  HeadMaps(static_cast<std::size_t>(ranks.cols)));
  for (const MapMeasure& measure : map_measures()) {
    if (measure.whole) {
      add_numbers(expect_matrix<std::int64_t>(record, measure.name), measure, sequences);
    } else {
      add_numbers(expect_matrix<double>(record, measure.name), measure, sequences);
    }
  }
  std::int64_t row = 0;
  for (HeadMaps& heads : sequences) {
    for (AttentionMapMeasures& map : heads) {
      for (std::int64_t at = 0; at < top.cols; ++at) {
        if (top(row, at) >= 0) map.top_columns.push_back(top(row, at));
      }
      ++row;
    }
  }
  return sequences;
}

void add_mean(Record& row, const std::string& name, const MeanWithError& value) {
  row.add(name, value.mean).add(name + "_error", value.standard_error);
}

/// Accumulates batches and writes the rows of a model after its last batch.
class AttentionRows {
 public:
  explicit AttentionRows(RowSink& sink) : sink_(sink) {}

  void add(const RowPlace& place, std::span<const Outcome> outcomes) {
    if (place.model != model_) finish();
    model_ = place.model;
    for (const Outcome& outcome : outcomes) {
      const auto layer = expect<std::int64_t>(outcome.fields, "layer");
      const std::vector<HeadMaps> sequences = read_maps(outcome.fields);
      const std::size_t heads = sequences.empty() ? 0 : sequences.front().size();
      Layer& of_layer = layers_.try_emplace(layer, heads).first->second;
      if (heads != of_layer.heads) refuse_field("energy_rank");
      for (const HeadMaps& maps : sequences) of_layer.sums.add(maps);
      add_attended_token_effects(outcome.fields, of_layer.effects);
      of_layer.activations.add(outcome.fields);
      of_layer.sequences += std::ssize(sequences);
      of_layer.energy = expect<double>(outcome.fields, "energy");
      of_layer.uniform.add(read_uniform_baseline(outcome.fields), std::ssize(sequences));
    }
  }

  void finish() {
    for (const auto& [layer, sums] : layers_) add_rows(layer, sums);
    layers_.clear();
    model_.clear();
  }

 private:
  struct Layer {
    explicit Layer(std::size_t count)
        : heads(count), sums(count), effects(count), activations(count) {}
    std::size_t heads;
    LayerSums sums;
    std::vector<RunningMean> effects;
    ActivationSums activations;
    std::int64_t sequences = 0;
    double energy = 0;
    UniformMeans uniform;
  };

  void add_rows(std::int64_t layer, const Layer& of_layer) {
    const LayerMeans means = of_layer.sums.means();
    const std::int64_t sequences = of_layer.sequences;
    std::int64_t number = 0;
    for (const HeadMeans& head : means.heads) {
      Record row = {
          {"model", model_}, {"layer", layer}, {"head", number++}, {"sequences", sequences}};
      for (std::size_t at = 0; at < map_measures().size(); ++at) {
        const MapMeasure& measure = map_measures()[at];
        if (measure.of_some && of_layer.uniform.of_uniform(at).is_null()) continue;
        const std::string field(measure.field);
        add_mean(row, field, head.means[at]);
        if (measure.name == "energy_columns") row.add("top_columns", head.top_columns);
        if (measure.of_uniform != nullptr)
          row.add("uniform_" + field, of_layer.uniform.of_uniform(at));
      }
      add_mean(row, "attended_token_effect",
               of_layer.effects[static_cast<std::size_t>(number - 1)].result());
      of_layer.activations.add_head_fields(static_cast<std::size_t>(number - 1), row);
      sink_.add_row(std::move(row));
    }
    Record row = {{"model", model_},
                  {"layer", layer},
                  {"head", Value()},
                  {"sequences", sequences},
                  {"max_rank", means.max_rank}};
    add_mean(row, "mean_max_rank", means.mean_max_rank);
    add_mean(row, "mean_energy_columns", means.mean_energy_columns);
    row.add("uniform_energy_columns", of_layer.uniform.columns());
    const bool judged =
        of_layer.energy == kCollapsedEnergy && of_layer.uniform.keys() >= kCollapsedKeys;
    row.add("collapsed", judged ? Value(means.collapsed) : Value());
    of_layer.activations.add_layer_fields(row);
    sink_.add_row(std::move(row));
  }

  RowSink& sink_;
  std::string model_;
  std::map<std::int64_t, Layer> layers_;
};

}  // namespace

Outcome attention_outcome(std::int64_t layer, std::int64_t heads,
                          std::span<const AttentionMapMeasures> maps,
                          const UniformAttention& uniform, const AttentionMapOptions& options) {
  Record fields = layer_record(layer, heads, options.energy, maps);
  add_uniform_baseline(fields, uniform, options);
  return {.fields = std::move(fields)};
}

RowMaker attention_row_maker(RowSink& sink) { return gathered_rows<AttentionRows>(sink); }

namespace {

/// With norms after branches, a head's contribution per key also depends on the norm scale at its
/// query, so it is not additive.
bool has_attended_token_effect(const ForwardPass& pass) {
  return LinearHead::obstacle(pass).empty() && !LinearHead::norms_branches(pass) &&
         shows_values(pass);
}

}  // namespace

void AttendedTokenEffects::prepare(const ForwardPass& pass, std::span<const TokenIds> sequences,
                                   std::span<WorkItem> items) {
  if (!has_attended_token_effect(pass)) return;
  TokenIds all;
  for (const TokenIds& ids : sequences) {
    for (const std::int64_t id : ids) {
      if (id >= pass.logits_width())
        return;  // the LM head may have fewer tokens than the embedding
      all.push_back(id);
    }
  }
  const std::vector<double> mean = mean_output_row(pass, all);
  for (WorkItem& item : items) item.parameters.add("mean_output_row", mean);
}

void AttendedTokenEffects::watch(const ForwardPass& pass, ForwardObserver& observer) {
  const std::int64_t last = pass.model().dimensions().layers - 1;
  if (item_.parameters.find("mean_output_row") == nullptr) return;
  if (item_.batch->layers.back() != last || !has_attended_token_effect(pass)) return;
  std::vector<double> from = expect_vector<double>(item_.parameters, "mean_output_row");
  if (std::ssize(from) != pass.model().dimensions().width) refuse_field("mean_output_row");
  head_.emplace(pass, std::move(from));
  attended_token_effect_.emplace(pass, *head_, item_.batch->tokens, compute_);
  observer.end_after_maps_of.reset();
  observer.on_values = [this](std::int64_t layer, MatrixView<const float> values) {
    attended_token_effect_->add_values(layer, values);
  };
  observer.on_maps = [this, look = std::move(observer.on_maps)](const LayerMaps& maps) {
    attended_token_effect_->add_maps(maps);
    look(maps);
  };
  observer.on_stream = [this, last](std::int64_t index, MatrixView<const float> stream) {
    if (index > last) attended_token_effect_->end(stream);
  };
}

void AttendedTokenEffects::add_to(std::vector<Outcome>& outcomes) const {
  if (!attended_token_effect_) return;
  for (Outcome& outcome : outcomes) {
    const Matrix<double>& means =
        attended_token_effect_->of_layer(expect<std::int64_t>(outcome.fields, "layer"));
    outcome.fields.add(
        "attended_token_effect",
        Array{{means.rows(), means.cols()},
              std::vector<double>(means.data(), means.data() + means.rows() * means.cols())});
  }
}

void add_attended_token_effects(const Record& fields, std::vector<RunningMean>& heads) {
  if (fields.find("attended_token_effect") == nullptr) return;
  const auto effects = expect_matrix<double>(fields, "attended_token_effect");
  if (effects.cols != std::ssize(heads)) refuse_field("attended_token_effect");
  for (std::int64_t sequence = 0; sequence < effects.rows; ++sequence) {
    for (std::int64_t head = 0; head < effects.cols; ++head) {
      heads[static_cast<std::size_t>(head)].add(effects(sequence, head));
    }
  }
}

}  // namespace attnscope
