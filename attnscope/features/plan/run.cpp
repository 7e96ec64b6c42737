#include "attnscope/features/plan/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/plan/combined_methods.h"
#include "attnscope/features/plan/method_comparison.h"
#include "attnscope/features/plan/methods/low_rank.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/resumable_steps.h"
#include "attnscope/features/plan/rows.h"
#include "attnscope/features/plan/search.h"

namespace attnscope {
namespace {

void check_can_plan(const Model& model, const PlanText& text) {
  if (model.stack() == "cross") {
    throw Error(
        ErrorKind::unsupported,
        {.place = model.name(),
         .problem = "cannot be planned alone: its layers are removed with the decoder layers"});
  }
  if (!model.spec().causal && !text.mask && text.held_out_sources.empty()) {
    throw Error(ErrorKind::unsupported,
                {.place = model.name(),
                 .problem = "cannot measure perplexity: attention is bidirectional and there is no "
                            "tokenizer with a mask token"});
  }
  if (!model.spec().not_run.empty()) {
    throw Error(ErrorKind::unsupported,
                {.file = model.spec().source, .problem = model.spec().not_run});
  }
}

/// "depth, mlp and heads": the names of all methods that can be combined.
std::string combining_names() {
  std::vector<std::string> names;
  for (const Method method : methods()) {
    if (method->combines) names.emplace_back(method->name);
  }
  return join_words(names);
}

void check_method(const Model& model, Method method) {
  const std::string why = why_not(model, method);
  if (why.empty()) return;
  std::vector<std::string> names;
  for (const Method other : possible_methods(model)) names.emplace_back(other->name);
  throw Error(ErrorKind::unsupported, {.parameter = "method",
                                       .problem = std::string(method->name) + ": " + verbatim(why) +
                                                  "; " + verbatim(model.name()) + " supports " +
                                                  (names.empty() ? "no method" : join(names))});
}

[[noreturn]] void refuse_target(const std::string& parameter, const std::string& nearest) {
  throw Error(ErrorKind::numerical,
              {.parameter = parameter,
               .problem = "target not reachable with this method; nearest: " + nearest});
}

/// The largest size whose `number` is at most `most`. Sizes and their numbers are in descending
/// order.
Choice largest_within(Planner& planner, Method method, const std::string& parameter, double most,
                      double (*number)(const ModelSize&)) {
  const std::vector<std::int64_t> sizes = planner.sizes(method);
  double last = 0;
  for (const std::int64_t size : sizes) {
    const Choice sketch = method->sketch == nullptr ? Choice{.method = method, .size = size}
                                                    : method->sketch(planner, size);
    last = number(size_after(planner.model(), planner.size(), sketch));
    if (size == sizes.front() && method->makes_latents)
      continue;  // the original model, not an MLA model
    if (last <= most) return planner.at_size(method, size);
  }
  refuse_target(parameter, std::to_string(static_cast<std::int64_t>(last)) + " of " +
                               std::to_string(static_cast<std::int64_t>(number(planner.size()))));
}

[[noreturn]] void refuse_empty_comparison(const std::vector<Method>& methods) {
  throw Error(ErrorKind::numerical,
              {.parameter = "method",
               .problem = methods_text(methods) + " cannot make this model smaller"});
}

double parameters_of(const ModelSize& size) { return static_cast<double>(size.parameters); }
double cache_of(const ModelSize& size) {
  return static_cast<double>(size.kv_cache_bytes_per_token);
}

constexpr int kMeasurements = 10;

/// The smallest model whose mean negative log-likelihood is at most `most`, by bisection with at
/// most kMeasurements measurements.
Choice smallest_within(Planner& planner, Method method, double most) {
  if (method->allocates_ranks()) {
    const auto whole = static_cast<double>(planner.ranks().parameters());
    double low = 0.02, high = 1;
    for (int at = 0; at < kMeasurements; ++at) {
      const double middle = (low + high) / 2;
      const Choice choice = planner.at_budget(static_cast<std::int64_t>(middle * whole));
      (planner.nll_of(choice, false) <= most ? high : low) = middle;
    }
    return planner.at_budget(static_cast<std::int64_t>(high * whole));
  }
  const std::vector<std::int64_t> sizes = planner.sizes(method);
  std::size_t good = 0, bad = sizes.size();
  for (int at = 0; at < kMeasurements && bad - good > 1; ++at) {
    const std::size_t middle = (good + bad) / 2;
    const bool within = planner.nll_of(planner.at_size(method, sizes[middle]), false) <= most;
    (within ? good : bad) = middle;
  }
  return planner.at_size(method, sizes[good]);
}

Choice completed(Planner& planner, const Choice& set) {
  const std::string wrong = why_not_ranks(planner.model(), set);
  if (!wrong.empty()) throw Error(ErrorKind::usage, {.parameter = "set", .problem = wrong});
  if (set.method->parse_set != nullptr) return set;
  const auto sizes = set.method->sizes(planner.model());
  if (std::find(sizes.begin(), sizes.end(), set.size) != sizes.end()) {
    return planner.at_size(set.method, set.size);
  }
  throw Error(ErrorKind::usage,
              {.parameter = "set",
               .problem = std::string(set.method->name) + "=" + std::to_string(set.size) +
                          " is not a possible size for " + verbatim(planner.model().name())});
}

Choice chosen(Planner& planner, Method method, const PlanTarget& target) {
  if (target.set) return completed(planner, *target.set);
  if (target.keep && method->allocates_ranks()) {
    const auto whole = static_cast<double>(planner.ranks().parameters());
    const auto budget = static_cast<std::int64_t>(*target.keep * whole);
    const Choice choice = planner.at_budget(budget);
    std::int64_t least = 0;
    for (const RankOptions& matrix : planner.ranks().options) least += matrix.rows + matrix.cols;
    if (least > budget) refuse_target("keep", std::to_string(least) + " parameters in factors");
    return choice;
  }
  if (target.keep) {
    if (!method->why_no_keep.empty()) {
      throw Error(ErrorKind::usage, {.parameter = "keep",
                                     .problem = std::string(method->why_no_keep),
                                     .hint = "use {kv_bytes}"});
    }
    return largest_within(planner, method, "keep", *target.keep * parameters_of(planner.size()),
                          parameters_of);
  }
  if (target.kv_bytes) {
    const bool share = *target.kv_bytes < 2;
    const double most = share ? *target.kv_bytes * cache_of(planner.size()) : *target.kv_bytes;
    return largest_within(planner, method, "kv_bytes", most, cache_of);
  }
  const double before = planner.nll_before(false);
  const double most = target.perplexity ? std::log(*target.perplexity) : before + *target.loss;
  if (most < before) {
    refuse_target("max_perplexity", shortest_decimal(std::exp(before)) + " (the original model)");
  }
  return smallest_within(planner, method, most);
}

Record asked_record(const PlanRequest& request) {
  Record asked = request.text.parameters;
  asked.add("method", request.by.empty() ? Value() : Value(methods_text(request.by)));
  if (!request.target.text.empty()) asked.add("target", request.target.text);
  return asked;
}

/// Registers the expected number of steps, as far as it is known.
void expect_steps(PlanSteps& steps, const Planner& planner, const std::vector<Method>& methods,
                  const PlanTarget& target) {
  steps.expect(1);  // the original model
  for (const Method method : methods) {
    if (method->allocates_ranks()) steps.expect(planner.rank_steps());
    if (!target.text.empty()) {
      steps.expect(target.loss || target.perplexity ? 1 + kMeasurements : 1);
      continue;
    }
    const std::vector<std::int64_t> sizes = planner.sizes(method);
    const std::vector<std::int64_t> wanted =
        sizes.size() < 2 ? std::vector<std::int64_t>() : sizes_to_compare(sizes);
    steps.expect(method->allocates_ranks() ? std::size(kComparisonBudgets)
                                           : wanted.size() + planner.steps_of(method, wanted));
  }
}

/// Measures the original model. If the result is not finite, the error names the first matrix that
/// contains NaN or infinity, if any.
double nll_as_it_is(Planner& planner, bool all) {
  try {
    return planner.nll_before(all);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numerical) throw;
    const Model& model = planner.model();
    for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
      for (const Role role : stored_projections(model, layer)) {
        const Matrix<double> weight = canonical_matrix(model, layer, role);
        const auto reason = find_not_finite(std::as_const(weight).view());
        if (!reason) continue;
        ErrorParts parts = error.parts();
        parts.hint =
            std::string(role_name(role)) + " of layer " + std::to_string(layer) + " " + *reason;
        throw Error(ErrorKind::numerical, std::move(parts));
      }
    }
    throw;
  }
}

/// Returns a note if the perplexity on all windows exceeds the target, because the search uses only
/// some of them. Empty otherwise.
std::string why_above(const PlanRequest& request, const PlannedModel& planned) {
  const PlanTarget& target = request.target;
  if (!target.perplexity && !target.loss) return "";
  const double most =
      target.perplexity ? std::log(*target.perplexity) : planned.nll_before + *target.loss;
  if (planned.nll_after <= most) return "";
  const auto text = [](double nll) { return fmt::format("{:.2f}", std::exp(nll)); };
  return "perplexity on all evaluation windows is " + text(planned.nll_after) +
         ", above the target " + text(most) + ": the search used only the first " +
         std::to_string(request.eval_sequences) + " (raise {eval_sequences})";
}

}  // namespace

void run_plan_of_model(const Model& model, const PlanRequest& request, const Context& context,
                       RowSink& sink) {
  check_can_plan(model, request.text);
  const bool compares_methods = request.target.text.empty();
  const std::vector<Method> methods = request.by.empty() ? possible_methods(model) : request.by;
  for (const Method method : request.by) check_method(model, method);
  if (!compares_methods && request.by.empty()) {
    throw Error(ErrorKind::usage, {.parameter = "method",
                                   .problem = "missing compression method: a target needs one"});
  }
  for (const Method method : request.by) {
    if (compares_methods || request.by.size() < 2 || method->combines) continue;
    throw Error(ErrorKind::usage, {.parameter = "method",
                                   .problem = std::string(method->name) +
                                              " cannot be combined with other methods; only " +
                                              combining_names() + " can be combined"});
  }
  std::vector<std::string> notes = request.text.notes;
  std::vector<Candidate> comparison;
  PlannedModel planned;
  PlanSteps steps(model, asked_record(request), context);
  run_with_all_threads(steps.counting(),
                       [&](const Compute& compute) {
                         Planner planner(model, request, steps, compute);
                         expect_steps(steps, planner, methods, request.target);
                         planned.before = planner.size();
                         planned.nll_before = nll_as_it_is(planner, /*all=*/!compares_methods);
                         if (compares_methods) {
                           comparison = whole_comparison(planner, methods, notes);
                           if (comparison.empty() && notes.size() == request.text.notes.size()) {
                             refuse_empty_comparison(methods);
                           }
                         } else if (methods.size() > 1) {
                           planned = combined(planner, request, context, compute);
                         } else {
                           const Choice choice = chosen(planner, methods.front(), request.target);
                           planned.choices = {choice};
                           planned.words = {choice_words(model, choice)};
                           planned.after = size_after(model, planned.before, choice);
                           planned.predicted_kl = planner.predicted_kl(choice);
                           planned.nll_after = planner.nll_of(choice, /*all=*/true);
                           planned.rows = plan_rows(planner, choice);
                         }
                         planned.skipped = planner.skipped();
                         steps.finish();
                       },
                       {"plan", "plans"});
  for (const std::string& note : notes) sink.add_note(note);
  if (compares_methods) {
    send_comparison(model, request, comparison, planned, sink);
  } else {
    const std::string above = why_above(request, planned);
    if (!above.empty()) sink.add_note(above);
    send_plan(model, request, planned, sink);
  }
}

}  // namespace attnscope
