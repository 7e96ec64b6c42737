// Induction and duplicate-token scores, on random tokens repeated twice.
#include "attnscope/features/attention/induction_run.h"

#include <array>
#include <map>
#include <random>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/attention/measures.h"
#include "attnscope/features/attention/uniform_baseline.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/numerics/statistics/running_mean.h"

namespace attnscope {
namespace {

/// A score of a head's map. `after`: offset of the scored key from the earlier occurrence of the
/// query's token.
struct RepeatScore {
  const char* name;
  std::optional<double> (*of_map)(MatrixView<const float> map, std::int64_t block,
                                  std::int64_t start);
  std::int64_t after;
};
constexpr std::array kRepeatScores = {
    RepeatScore{"induction", induction_score, 1},
    RepeatScore{"duplicate_token", duplicate_token_score, 0},
};

std::string uniform_name(const RepeatScore& score) { return std::string("uniform_") + score.name; }

std::vector<Outcome> induction_outcomes(const WorkItem& item, const ModelSource& source,
                                        const Compute& compute) {
  const std::int64_t tokens = std::ssize(item.batch->tokens.front()), block = tokens / 2;
  const std::vector<LayerSpec>& layers = source.model->spec().layers;
  std::vector<Outcome> outcomes;
  run_batch(item, source, compute, [&](const LayerMaps& layer) {
    const std::vector<std::int64_t> shape = {std::ssize(layer.maps) / layer.heads, layer.heads};
    const UniformAttention uniform = {
        .tokens = tokens,
        .mask = mask_of(layers[static_cast<std::size_t>(layer.layer)].attention.mask)};
    Record fields = {{"layer", layer.layer}};
    for (const RepeatScore& score : kRepeatScores) {
      std::vector<double> numbers;
      for (const MatrixView<const float>& map : layer.maps) {
        numbers.push_back(score.of_map(map, block, 0).value_or(0));
      }
      fields.add(score.name, Array{shape, std::move(numbers)})
          .add(uniform_name(score),
               repeated_token(uniform, block, block - score.after).value_or(0));
    }
    outcomes.push_back({.fields = std::move(fields)});
  });
  return outcomes;
}

class InductionRows {
 public:
  explicit InductionRows(RowSink& sink) : sink_(sink) {}

  void add(const RowPlace& place, std::span<const Outcome> outcomes) {
    if (place.model != model_) finish();
    model_ = place.model;
    for (const Outcome& outcome : outcomes) {
      const auto layer = expect<std::int64_t>(outcome.fields, "layer");
      auto& scores = layers_[layer];
      for (std::size_t at = 0; at < kRepeatScores.size(); ++at) {
        const RepeatScore& score = kRepeatScores[at];
        const auto numbers = expect_matrix<double>(outcome.fields, score.name);
        scores[at].heads.resize(static_cast<std::size_t>(numbers.cols));
        if (scores[at].heads.size() != scores.front().heads.size()) refuse_field(score.name);
        scores[at].of_uniform = expect<double>(outcome.fields, uniform_name(score));
        for (std::int64_t sequence = 0; sequence < numbers.rows; ++sequence) {
          for (std::int64_t head = 0; head < numbers.cols; ++head) {
            scores[at].heads[static_cast<std::size_t>(head)].add(numbers(sequence, head));
          }
        }
      }
    }
  }

  void finish() {
    for (const auto& [layer, scores] : layers_) {
      for (std::size_t head = 0; head < scores.front().heads.size(); ++head) {
        Record row = {
            {"model", model_}, {"layer", layer}, {"head", static_cast<std::int64_t>(head)}};
        for (std::size_t at = 0; at < kRepeatScores.size(); ++at) {
          const std::string name = kRepeatScores[at].name;
          const MeanWithError mean = scores[at].heads[head].result();
          row.add(name, mean.mean)
              .add(name + "_error", mean.standard_error)
              .add(uniform_name(kRepeatScores[at]), scores[at].of_uniform);
        }
        sink_.add_row(std::move(row));
      }
    }
    layers_.clear();
    model_.clear();
  }

 private:
  struct ScoreSums {
    std::vector<RunningMean> heads;
    double of_uniform = 0;  // under uniform attention
  };

  RowSink& sink_;
  std::string model_;
  std::map<std::int64_t, std::array<ScoreSums, kRepeatScores.size()>> layers_;
};

}  // namespace

const Analysis& induction_analysis() {
  static constexpr Analysis analysis = {.name = "induction",
                                        .command = "attention",
                                        .items = {"batch", "batches"},
                                        .takes_batches = true,
                                        .compute = induction_outcomes,
                                        .cost = batch_cost,
                                        .add_inputs = add_batch_inputs,
                                        .make_rows = gathered_rows<InductionRows>};
  return analysis;
}

void run_induction(std::span<const Model> models, const InductionRequest& asked,
                   const Context& context, RowSink& sink) {
  const ReadyModels ready(models, context);
  const InductionRequest request = fitted(asked, ready, models.size());
  // Stores separate runs by these parameters: means over several runs would count sequences twice.
  const Record parameters = {{"sequences", request.sequences},
                             {"length", 2 * *request.block},
                             {"seed", static_cast<std::int64_t>(request.seed)},
                             {"layers", request.layers.parameter()}};
  Plan plan{.analysis = &induction_analysis(), .parameters = parameters};
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const std::vector<TokenIds> sequences =
        repeated_tokens(request, ready.pass(index).vocabulary());
    const BatchInputs inputs{.tokens = sequences};
    check_inputs(ready.pass(index), inputs);
    note_past_context(ready.pass(index), inputs, sink);
    add_batches(plan, index, model, inputs, attention_layers(request.layers, model, &sink));
  }
  ReportHead head{.command = "attention",
                  .parameters = {{"induction", true}, {"source", "random"}}};
  for (const auto& [name, value] : parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
