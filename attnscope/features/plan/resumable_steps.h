// The steps of a plan. They are counted for the progress display and saved in a store, so that an
// interrupted plan resumes after the last step.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/engine/store/stored_items.h"
#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/calibration/moments_cache.h"
#include "attnscope/features/plan/methods/method.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Name of plan steps in the store. Steps are intermediate results and never printed as rows.
inline constexpr std::string_view kPlanSteps = "plan_steps";

/// Thread-safe.
class PlanSteps {
 public:
  /// The model and the context must outlive it. `plan`: the request, for the store's list of runs.
  PlanSteps(const Model& model, const Record& plan, const Context& context);

  /// Steps of an intermediate model in the same plan. `made_of`: everything that determines that
  /// model. The original steps and the context must outlive it.
  PlanSteps of_made(Record made_of, const Context& context) const;

  /// The context of the run, with progress in steps. Valid as long as this object.
  Context counting() const;
  const Context& context() const { return *context_; }

  /// Announces this many more steps; fewer are allowed.
  void expect(std::size_t steps) { shared_->expected += steps; }

  /// The result of compute(), or the saved result of an earlier run. `name`: the kind of step.
  /// `facts`: everything that the result depends on in addition to the model.
  std::vector<Outcome> get(const std::string& name, const Record& facts,
                           const std::function<std::vector<Outcome>()>& compute);
  /// The same for a step whose result is numbers.
  std::vector<double> numbers(const std::string& name, const Record& facts,
                              const std::function<std::vector<double>()>& compute);
  double number(const std::string& name, const Record& facts,
                const std::function<double()>& compute);

  /// The cache of second moments on a text, kept until all steps are done. Null without a store and
  /// for intermediate models. Valid as long as this object or a copy.
  MomentsCache* moments(const Record& text);

  /// Marks all steps as done.
  void finish();

 private:
  /// State shared by the steps of a plan.
  struct Shared {
    std::vector<ModelSource> sources;
    std::optional<StoredItems> stored;
    std::optional<MomentsCache> moments;
    std::atomic<std::size_t> done = 0, expected = 0;
  };

  ItemInputs inputs_of(const std::string& name, const Record& facts) const;

  const Context* context_;
  std::shared_ptr<Shared> shared_;
  Record made_of_;  // for steps of an intermediate model
};

// Hashes that bind a plan to its model and text. `shrink` rejects others.

/// Hash of the config and all weights of a model.
std::string model_hash(const Model& model);
/// Hash of the text windows, the source texts of encoders and the scored tokens.
std::string windows_hash(const TextWindows& text);
/// Hash of a method, its size and what it keeps.
std::string choice_hash(const Choice& choice);

}  // namespace attnscope
