#include "attnscope/features/plan/combined_methods.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/system_memory.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/resumable_steps.h"

namespace attnscope {
namespace {

constexpr std::int64_t kSteps = 16;

/// Stages share the memory. They compute in this process, because other processes do not have the
/// files of intermediate models.
Context own_context(Context whole, std::size_t stages) {
  whole.memory_bytes /= stages;
  whole.compute_elsewhere = {};
  return whole;
}

/// Everything that determines a model made by applying these choices in order.
Record made_by(const std::vector<Choice>& choices, const PlanRequest& request) {
  std::vector<std::string> made_by;
  for (const Choice& choice : choices) made_by.push_back(choice_hash(choice));
  return {{"made_by", join(made_by, ",")},
          {"made_fitted", windows_hash(request.text.fitted())},
          {"made_ridge", request.ridge}};
}

/// An intermediate model, made by the earlier methods.
struct Stage {
  Model model;
  Context context;
  PlanSteps steps;
  Planner planner;

  Stage(Model made, const std::vector<Choice>& choices, const PlanSteps& all,
        const PlanRequest& request, const Context& whole, const Compute& compute)
      : model(std::move(made)),
        context(own_context(whole, request.by.size())),
        steps(all.of_made(made_by(choices, request), context)),
        planner(model, request, steps, compute) {}
};

/// The largest possible size that is at most `wanted`; empty if there is none.
std::optional<std::int64_t> size_within(const std::vector<std::int64_t>& sizes, double wanted) {
  for (const std::int64_t size : sizes) {
    if (static_cast<double>(size) <= wanted) return size;
  }
  return std::nullopt;
}

class Combiner {
 public:
  Combiner(Planner& planner, const PlanRequest& request, const Context& context,
           const Compute& compute)
      : first_(planner), request_(request), context_(context), compute_(compute) {
    for (const Method method : request.by) sizes_.push_back(planner.sizes(method));
  }

  /// The compressed model with one size per method, measured on a few windows or on all. Empty if a
  /// method cannot reach its size after the methods before it.
  std::optional<PlannedModel> made(const std::vector<std::int64_t>& sizes, bool all) {
    PlannedModel out{.before = first_.size()};
    Planner* planner = &first_;
    std::vector<std::int64_t> done, last;  // `last`: sizes up to the last choice
    for (std::size_t at = 0; at < sizes.size(); ++at) {
      const Method method = request_.by[at];
      done.push_back(sizes[at]);
      if (sizes[at] == sizes_[at].front()) continue;
      if (!out.choices.empty()) planner = &stage_of(*planner, last, out.choices).planner;
      if (!why_not(planner->model(), method).empty()) return std::nullopt;
      const std::vector<std::int64_t> possible = planner->sizes(method);
      const bool takes = std::find(possible.begin(), possible.end(), sizes[at]) != possible.end();
      if (!takes) return std::nullopt;
      const Choice choice = planner->at_size(method, sizes[at]);
      if (all) {
        const std::vector<Record> rows = plan_rows(*planner, choice);
        out.rows.insert(out.rows.end(), rows.begin(), rows.end());
      }
      out.choices.push_back(choice);
      out.words.push_back(std::string(method->name) + " " + choice_words(planner->model(), choice));
      last = done;
    }
    out.nll_before = first_.nll_before(all);
    if (out.choices.empty()) {
      out.after = first_.size();
      out.nll_after = out.nll_before;
    } else {
      out.after = size_after(planner->model(), planner->size(), out.choices.back());
      out.nll_after = planner->nll_of(out.choices.back(), all);
    }
    return out;
  }

  /// Drops the intermediate models that do not lead to these sizes.
  void keep(const std::vector<std::int64_t>& sizes) {
    std::erase_if(stages_, [&](const auto& stage) {
      return !std::equal(stage.first.begin(), stage.first.end(), sizes.begin());
    });
    trim_heap();
  }

  std::vector<std::int64_t> whole() const {
    std::vector<std::int64_t> out;
    for (const auto& own : sizes_) out.push_back(own.front());
    return out;
  }

  /// The next step of one method that saves something: the sizes and the resulting model.
  struct Step {
    std::vector<std::int64_t> sizes;
    PlannedModel model;
  };
  std::optional<Step> next(const Step& from, std::size_t method) {
    Step out = from;
    const std::vector<std::int64_t>& sizes = sizes_[method];
    const double each = static_cast<double>(sizes.front()) / kSteps;
    while (true) {
      const auto now = static_cast<double>(out.sizes[method]);
      const double wanted = std::min((std::ceil(now / each) - 1) * each, now - 1);
      const auto size = size_within(sizes, wanted);
      if (!size) return std::nullopt;
      out.sizes[method] = *size;
      std::optional<PlannedModel> model = made(out.sizes, /*all=*/false);
      if (!model || number(model->after) >= number(from.model.after)) continue;
      out.model = std::move(*model);
      return out;
    }
  }

  /// Between two steps, the step with the largest size of the method whose number() is at most
  /// `most`.
  Step last(const Step& from, Step to, std::size_t method, double most) {
    const double saved = number(from.model.after) - number(to.model.after);
    const double share = (most - number(to.model.after)) / saved;
    const auto low = static_cast<double>(to.sizes[method]);
    const double wanted = low + share * (static_cast<double>(from.sizes[method]) - low);
    const auto size = size_within(sizes_[method], wanted);
    if (!size || *size <= to.sizes[method]) return to;
    Step out = to;
    out.sizes[method] = *size;
    std::optional<PlannedModel> model = made(out.sizes, /*all=*/false);
    if (!model || number(model->after) > most) return to;
    out.model = std::move(*model);
    return out;
  }

  /// The quantity that the target limits: parameters or KV-cache bytes.
  double number(const ModelSize& size) const {
    return static_cast<double>(request_.target.kv_bytes ? size.kv_cache_bytes_per_token
                                                        : size.parameters);
  }

 private:
  /// The model that the last of these choices makes from the planner's model.
  Stage& stage_of(Planner& planner, const std::vector<std::int64_t>& sizes,
                  const std::vector<Choice>& choices) {
    std::unique_ptr<Stage>& stage = stages_[sizes];
    if (!stage) {
      stage = std::make_unique<Stage>(planner.made(choices.back()), choices, first_.steps(),
                                      request_, context_, compute_);
    }
    return *stage;
  }

  Planner& first_;
  const PlanRequest& request_;
  const Context& context_;
  const Compute& compute_;
  std::vector<std::vector<std::int64_t>> sizes_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Stage>>
      stages_;  // by the sizes that lead to them
};

double most_of_size(const PlanTarget& target, double whole) {
  if (target.keep) return *target.keep * whole;
  if (target.kv_bytes) return *target.kv_bytes < 2 ? *target.kv_bytes * whole : *target.kv_bytes;
  return 0;
}

}  // namespace

PlannedModel combined(Planner& planner, const PlanRequest& request, const Context& context,
                      const Compute& compute) {
  const PlanTarget& target = request.target;
  Combiner combiner(planner, request, context, compute);
  const double before = planner.nll_before(/*all=*/false);
  const bool by_loss = target.loss || target.perplexity;
  const double most_nll =
      target.perplexity ? std::log(*target.perplexity) : before + target.loss.value_or(0);
  const double most = by_loss ? 0 : most_of_size(target, combiner.number(planner.size()));
  Combiner::Step now{.sizes = combiner.whole(), .model = {}};
  now.model.after = planner.size();
  now.model.nll_after = before;
  while (by_loss || combiner.number(now.model.after) > most) {
    compute.check_stop();
    std::optional<Combiner::Step> best;
    std::size_t best_method = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t method = 0; method < request.by.size(); ++method) {
      std::optional<Combiner::Step> step = combiner.next(now, method);
      if (!step || (by_loss && step->model.nll_after > most_nll)) continue;
      const double saved = combiner.number(now.model.after) - combiner.number(step->model.after);
      const double price = (step->model.nll_after - now.model.nll_after) / saved;
      if (price >= least) continue;
      least = price;
      best = std::move(step);
      best_method = method;
    }
    if (!best) break;
    const bool meets = !by_loss && combiner.number(best->model.after) <= most;
    combiner.keep(best->sizes);
    now = meets ? combiner.last(now, std::move(*best), best_method, most) : std::move(*best);
  }
  if (!by_loss && combiner.number(now.model.after) > most) {
    throw Error(ErrorKind::numerical,
                {.parameter = target.kv_bytes ? "kv_bytes" : "keep",
                 .problem = "target not reachable with these methods; nearest: " +
                            shortest_decimal(combiner.number(now.model.after)) + " of " +
                            shortest_decimal(combiner.number(planner.size()))});
  }
  if (now.sizes == combiner.whole()) {
    throw Error(ErrorKind::numerical,
                {.parameter = "method",
                 .problem = "the target requires no compression step, or allows none"});
  }
  return *combiner.made(now.sizes, /*all=*/true);
}

}  // namespace attnscope
