// Induction and duplicate-token heads, on random tokens repeated twice.
#include <map>
#include <random>

#include "attnscope/analyses/attention.h"
#include "attnscope/analyses/sequence_batches.h"
#include "attnscope/analysis/attention_map.h"
#include "attnscope/analysis/attention_means.h"
#include "attnscope/analysis/even_attention.h"
#include "attnscope/core/error.h"
#include "attnscope/forward/layer_run.h"

namespace attnscope {
namespace {

/// Ids drawn from the whole vocabulary, by a generator that C++ fixes to the bit.
std::vector<TokenIds> repeated_tokens(const InductionRequest& request, std::int64_t vocabulary) {
  std::mt19937_64 generator(request.seed);
  std::vector<TokenIds> sequences;
  for (std::int64_t number = 0; number < request.sequences; ++number) {
    TokenIds ids;
    for (std::int64_t at = 0; at < request.block; ++at) {
      ids.push_back(
          static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(vocabulary)));
    }
    ids.insert(ids.end(), ids.begin(), ids.begin() + request.block);
    sequences.push_back(std::move(ids));
  }
  return sequences;
}

std::vector<Outcome> induction_outcomes(const WorkItem& item, const Source& source,
                                        const Compute& compute) {
  const std::int64_t tokens = std::ssize(item.batch->tokens.front()), block = tokens / 2;
  const std::vector<LayerSpec>& layers = source.model->spec().layers;
  std::vector<Outcome> outcomes;
  run_batch(item, source, compute, [&](const LayerMaps& layer) {
    std::vector<double> induction, duplicate;
    for (const MatrixView<const float>& map : layer.maps) {
      induction.push_back(induction_score(map, block).value_or(0));
      duplicate.push_back(duplicate_token_score(map, block).value_or(0));
    }
    const std::vector<std::int64_t> shape = {std::ssize(layer.maps) / layer.heads, layer.heads};
    const EvenAttention even = {
        .tokens = tokens,
        .mask = mask_of(layers[static_cast<std::size_t>(layer.layer)].attention.mask)};
    outcomes.push_back(
        {.fields = {{"layer", layer.layer},
                    {"induction", Array{shape, std::move(induction)}},
                    {"null_induction", repeated_token(even, block, block - 1).value_or(0)},
                    {"duplicate_token", Array{shape, std::move(duplicate)}},
                    {"null_duplicate_token", repeated_token(even, block, block).value_or(0)}}});
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
      const auto induction = expect_matrix<double>(outcome.fields, "induction");
      const auto duplicate = expect_matrix<double>(outcome.fields, "duplicate_token");
      if (duplicate.rows != induction.rows || duplicate.cols != induction.cols) {
        refuse_field("duplicate_token");
      }
      Layer& of_layer = layers_[layer];
      of_layer.null_induction = expect<double>(outcome.fields, "null_induction");
      of_layer.null_duplicate = expect<double>(outcome.fields, "null_duplicate_token");
      of_layer.heads.resize(static_cast<std::size_t>(induction.cols));
      for (std::int64_t sequence = 0; sequence < induction.rows; ++sequence) {
        for (std::int64_t head = 0; head < induction.cols; ++head) {
          Head& sums = of_layer.heads[static_cast<std::size_t>(head)];
          sums.induction.add(induction(sequence, head));
          sums.duplicate.add(duplicate(sequence, head));
        }
      }
    }
  }

  void finish() {
    for (const auto& [layer, of_layer] : layers_) {
      std::int64_t number = 0;
      for (const Head& head : of_layer.heads) {
        const MeanWithError induction = head.induction.result();
        const MeanWithError duplicate = head.duplicate.result();
        sink_.add_row({{"model", model_},
                       {"layer", layer},
                       {"head", number++},
                       {"induction", induction.mean},
                       {"induction_error", induction.standard_error},
                       {"null_induction", of_layer.null_induction},
                       {"duplicate_token", duplicate.mean},
                       {"duplicate_token_error", duplicate.standard_error},
                       {"null_duplicate_token", of_layer.null_duplicate}});
      }
    }
    layers_.clear();
    model_.clear();
  }

 private:
  struct Head {
    RunningMean induction, duplicate;
  };
  struct Layer {
    std::vector<Head> heads;
    double null_induction = 0, null_duplicate = 0;  // of even attention
  };

  RowSink& sink_;
  std::string model_;
  std::map<std::int64_t, Layer> layers_;
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

void run_induction(std::span<const Model> models, const InductionRequest& request,
                   const Context& context, RowSink& sink) {
  // Stores keep runs apart by them: means over several would count sequences twice.
  const Record parameters = {{"sequences", request.sequences},
                             {"length", 2 * request.block},
                             {"sample", static_cast<std::int64_t>(request.seed)},
                             {"layers", request.layers.parameter()}};
  Plan plan{.analysis = &induction_analysis(), .parameters = parameters};
  const ReadyModels ready(models, context);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    const std::vector<TokenIds> sequences =
        repeated_tokens(request, ready.pass(index).vocabulary());
    ready.pass(index).check(sequences.front());
    add_batches(plan, index, sequences,
                request.layers.resolve(model.dimensions().layers, model.name()));
  }
  ReportHead head{.command = "attention",
                  .parameters = {{"induction", true}, {"source", "random"}}};
  for (const auto& [name, value] : parameters.fields()) head.parameters.add(name, value);
  run_plan(plan, ready.sources(), std::move(head), ready.rest(), sink);
}

}  // namespace attnscope
