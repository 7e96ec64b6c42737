#include "attnscope/features/plan/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "attnscope/engine/system_memory.h"
#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/calibration/removal_loss.h"
#include "attnscope/features/plan/methods/depth.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/mlp.h"
#include "attnscope/features/plan/resumable_steps.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {
namespace {

/// Accumulates the mean cosine similarity between corresponding rows, over batches.
class MeanCosine {
 public:
  void add(MatrixView<const float> before, MatrixView<const float> after,
           std::span<const std::int64_t> rows) {
    for (const std::int64_t row : rows) {
      double ab = 0, aa = 0, bb = 0;
      for (std::int64_t col = 0; col < before.cols; ++col) {
        const auto x = static_cast<double>(before(row, col));
        const auto y = static_cast<double>(after(row, col));
        ab += x * y;
        aa += x * x;
        bb += y * y;
      }
      sum_ += aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
    }
    rows_ += std::ssize(rows);
  }

  /// 1 − mean; null if no rows were added.
  Value influence() const {
    return rows_ > 0 ? Value(1 - sum_ / static_cast<double>(rows_)) : Value();
  }

 private:
  double sum_ = 0;
  std::int64_t rows_ = 0;
};

/// The saved number of a step; NaN if it is null.
double kept_number(const Outcome& outcome, std::string_view name) {
  const Value* value = outcome.fields.find(name);
  if (value == nullptr) refuse_field(name);
  return value->is_null() ? std::numeric_limits<double>::quiet_NaN() : expect<double>(*value, name);
}

/// The model with the output of one projection set to zero.
Model without_output(const Model& model, std::int64_t layer, Role role) {
  Matrix<double> weight = canonical_matrix(model, layer, role);
  std::fill_n(weight.data(), weight.rows() * weight.cols(), 0.0);
  LayerMatrices zeros;
  zeros.weights.emplace(role, std::move(weight));
  const std::vector<double> bias = canonical_bias(model, layer, role);
  if (!bias.empty()) zeros.biases.emplace(role, std::vector<double>(bias.size(), 0.0));
  ChangedModel changed(model);
  changed.set_layer(layer, zeros);
  return changed.open();
}

}  // namespace

Planner::Planner(const Model& model, const PlanRequest& request, PlanSteps& steps,
                 const Compute& compute)
    : model_(model),
      request_(request),
      steps_(steps),
      compute_(compute),
      fitted_hash_(windows_hash(request.text.fitted())),
      calibration_(model, request.text.fitted(), steps.context().memory_bytes / 2, ridge(),
                   steps.moments({{"fitted", fitted_hash_}})),
      size_(size_of(model)) {}

/// For plain singular vectors, the ridge is so large that all directions have equal weight.
double Planner::ridge() const {
  return request_.rank_allocation == RankAllocation::plain ? 1e12 : request_.ridge;
}

const ForwardPass& Planner::pass() {
  if (model_.stack() != "encoder") return calibration_.pass(compute_);
  if (!decoder_pass_) {
    decoder_.emplace(model_that_predicts(model_));
    decoder_pass_.emplace(*decoder_, request_.text.copy_weights, compute_);
  }
  return *decoder_pass_;
}

Record Planner::measured_facts(bool all) const {
  const TextWindows text = measured_text(all);
  return {{"measured", windows_hash(text)}, {"mask", text.mask}};
}

std::size_t Planner::steps_of(Method method, const std::vector<std::int64_t>& sizes) const {
  if (sizes.empty() || method->search_steps == nullptr) return 0;
  return method->search_steps(model_, sizes);
}

TextWindows Planner::measured_text(bool all) const {
  TextWindows text = request_.text.measured();
  if (all) return text;
  const auto few = std::min(static_cast<std::size_t>(request_.eval_sequences), text.windows.size());
  text.windows = text.windows.first(few);
  if (!text.sources.empty()) text.sources = text.sources.first(few);
  if (!text.scored.empty()) text.scored = text.scored.first(few);
  return text;
}

double Planner::nll_before(bool all) {
  std::optional<double>& known = all ? before_all_ : before_few_;
  if (!known) {
    known = steps_.number("loss", measured_facts(all),
                          [&] { return mean_nll(pass(), measured_text(all), compute_); });
  }
  return *known;
}

Model Planner::made(const Choice& choice) {
  Model smaller =
      choice.method->make(model_, choice, calibration_.statistics(compute_), compute_).open();
  trim_heap();  // frees the memory of compression before the run
  return smaller;
}

double Planner::nll_of(const Choice& choice, bool all) {
  Record facts = measured_facts(all);
  facts.add("fitted", fitted_hash_).add("ridge", ridge()).add("description", choice_hash(choice));
  return steps_.number("loss", facts,
                       [&] { return mean_nll(made(choice), measured_text(all), compute_); });
}

Candidate Planner::measured(const Choice& choice) {
  return {.choice = choice,
          .size = size_after(model_, size_, choice),
          .mean_nll = nll_of(choice, /*all=*/false),
          .predicted_kl = predicted_kl(choice)};
}

std::vector<std::int64_t> Planner::sizes(Method method) const {
  std::vector<std::int64_t> all = method->sizes(model_);
  if (!method->is_rounded || all.empty()) return all;
  const std::int64_t whole = all.front();
  std::erase_if(all,
                [&](std::int64_t size) { return size != whole && size % request_.round != 0; });
  return all;
}

Choice Planner::at_size(Method method, std::int64_t size) {
  if (method->search != nullptr) return method->search(*this, size);
  return choose(model_, method, size, calibration_.statistics(compute_), compute_);
}

const std::vector<std::vector<std::int64_t>>& Planner::neurons(std::int64_t count) {
  if (neurons_.empty() || std::ssize(neurons_.front()) < count) find_neurons(count);
  return neurons_;
}

void Planner::find_neurons(std::int64_t count) {
  const Record facts = {{"fitted", fitted_hash_}, {"ridge", ridge()}, {"count", count}};
  const std::vector<Outcome> kept = steps_.get("neurons", facts, [&] {
    std::vector<Outcome> outcomes;
    for (std::vector<std::int64_t>& layer :
         removed_neurons(model_, count, calibration_.statistics(compute_), compute_)) {
      outcomes.push_back({.head = {}, .fields = {{"neurons", std::move(layer)}}});
    }
    return outcomes;
  });
  neurons_.clear();
  for (const Outcome& layer : kept) {
    neurons_.push_back(expect_vector<std::int64_t>(layer.fields, "neurons"));
    const bool valid = std::ssize(neurons_.back()) == count &&
                       std::ranges::all_of(neurons_.back(), [&](std::int64_t neuron) {
                         return neuron >= 0 && neuron < model_.dimensions().mlp_width;
                       });
    if (!valid) refuse_field("neurons");
  }
  if (std::ssize(neurons_) != mlp_count(model_)) refuse_field("neurons");
}

const LayerOrder& Planner::removals(std::int64_t count) {
  const double before = nll_before(/*all=*/false);
  while (std::ssize(order_.removed) < count) {
    std::vector<std::int64_t> left = all_layers(model_);
    std::erase_if(left, [&](std::int64_t layer) {
      return std::find(order_.removed.begin(), order_.removed.end(), layer) != order_.removed.end();
    });
    Record facts = measured_facts(/*all=*/false);
    facts.add("removed", order_.removed);
    std::vector<double> losses =
        steps_.numbers("removal", facts, [&] { return nll_without_each(left); });
    if (losses.size() != left.size()) refuse_field("removal");
    for (double& loss : losses) loss -= before;
    if (order_.removed.empty()) order_.alone = losses;
    const auto least = std::min_element(losses.begin(), losses.end());
    order_.removed.push_back(left[static_cast<std::size_t>(least - losses.begin())]);
    order_.losses.push_back(*least);
  }
  return order_;
}

std::vector<double> Planner::nll_without_each(const std::vector<std::int64_t>& left) {
  const TextWindows text = measured_text(false);
  if (!text.mask && text.sources.empty() && pass().may_start_between()) {
    const std::set<std::int64_t> gone(order_.removed.begin(), order_.removed.end());
    return mean_nll_without(pass(), text, gone, left, compute_);
  }
  std::vector<double> out;
  for (const std::int64_t layer : left) {
    std::vector<std::int64_t> kept = left;
    std::erase(kept, layer);
    out.push_back(mean_nll(with_layers(model_, kept).open(), text, compute_));
  }
  return out;
}

std::vector<LayerImportance> Planner::layer_importance() {
  const double before = nll_before(/*all=*/false);
  const Record facts = measured_facts(/*all=*/false);
  const std::vector<Outcome> turned = steps_.get("influences", facts, [&] { return influences(); });
  const std::vector<Outcome> without = steps_.get("parts", facts, [&] {
    std::vector<Outcome> outcomes;
    for (const NllWithoutPart& own : nll_without_parts()) {
      outcomes.push_back({.head = {}, .fields = {{"attention", own.attention}, {"mlp", own.mlp}}});
    }
    return outcomes;
  });
  const auto layers = static_cast<std::size_t>(model_.dimensions().layers);
  if (turned.size() != layers) refuse_field("influences");
  if (without.size() != layers) refuse_field("parts");
  std::vector<LayerImportance> out;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    out.push_back({.influence = kept_number(turned[layer], "layer"),
                   .attention_influence = kept_number(turned[layer], "attention"),
                   .mlp_influence = kept_number(turned[layer], "mlp"),
                   .attention_loss = kept_number(without[layer], "attention") - before,
                   .mlp_loss = kept_number(without[layer], "mlp") - before});
  }
  return out;
}

std::vector<NllWithoutPart> Planner::nll_without_parts() {
  const TextWindows text = measured_text(false);
  if (!text.mask && text.sources.empty() && pass().may_start_between()) {
    return mean_nll_without_parts(pass(), text, compute_);
  }
  const auto nll_without = [&](std::int64_t layer, Role role) {
    if (model_.weight(layer, role).tensor == nullptr) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    return mean_nll(without_output(model_, layer, role), text, compute_);
  };
  std::vector<NllWithoutPart> out;
  for (std::int64_t layer = 0; layer < model_.dimensions().layers; ++layer) {
    out.push_back(
        {.attention = nll_without(layer, Role::output), .mlp = nll_without(layer, Role::down)});
  }
  return out;
}

std::vector<Outcome> Planner::influences() {
  struct Cosines {
    MeanCosine layer, attention, mlp;
  };
  std::vector<Cosines> cosines(static_cast<std::size_t>(model_.dimensions().layers));
  const TextWindows text = measured_text(false);
  for (const TextWindows& batch : batches_of(text)) {
    Matrix<float> entered, middle;  // of the current layer; middle: empty until its MLP
    const std::vector<std::int64_t> counted = rows_that_count(batch, model_);
    ForwardObserver observer;
    observer.on_stream = [&](std::int64_t index, MatrixView<const float> stream) {
      if (index > 0) {
        Cosines& own = cosines[static_cast<std::size_t>(index - 1)];
        own.layer.add(entered.view(), stream, counted);
        if (middle.rows() > 0) own.mlp.add(middle.view(), stream, counted);
      }
      entered = copied(stream);
      middle = {};
    };
    observer.on_middle = [&](std::int64_t layer, MatrixView<const float> stream) {
      cosines[static_cast<std::size_t>(layer)].attention.add(entered.view(), stream, counted);
      middle = copied(stream);
    };
    run_windows(calibration_.pass(compute_), batch, observer, compute_);
  }
  std::vector<Outcome> out;
  for (const Cosines& own : cosines) {
    out.push_back({.head = {},
                   .fields = {{"layer", own.layer.influence()},
                              {"attention", own.attention.influence()},
                              {"mlp", own.mlp.influence()}}});
  }
  return out;
}

}  // namespace attnscope
