// What a plan computes one after the other: counted for its progress, and kept in a store, so that
// a plan that was stopped goes on after the last.
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

/// The name under which stores keep steps: they are no rows, and none are printed of them.
inline constexpr std::string_view kPlanSteps = "plan_steps";

/// Any thread may call.
class PlanSteps {
 public:
  /// The model and the context must outlive it. `plan`: what was asked for, for the store's list of
  /// runs.
  PlanSteps(const Model& model, const Record& plan, const Context& context);

  /// Steps of a model that was made of this one, as part of the same plan: `made_of` is all that
  /// decides it. What it is part of, and the context, must outlive it.
  PlanSteps of_made(Record made_of, const Context& context) const;

  /// The run of which these are steps, with progress that counts them. Valid while this is.
  Context counting() const;
  const Context& context() const { return *context_; }

  /// So many more steps are to come; fewer may come.
  void expect(std::size_t steps) { shared_->expected += steps; }

  /// What compute() gives, or what an earlier run kept of it. `name`: of this kind of step;
  /// `facts`: all that it depends on beside the model.
  std::vector<Outcome> get(const std::string& name, const Record& facts,
                           const std::function<std::vector<Outcome>()>& compute);
  /// Of a step that gives numbers.
  std::vector<double> numbers(const std::string& name, const Record& facts,
                              const std::function<std::vector<double>()>& compute);
  double number(const std::string& name, const Record& facts,
                const std::function<double()>& compute);

  /// Where second moments of the model on a text are kept until all steps are done; null without a
  /// store, and of models that were made. Valid while this is, or a copy.
  MomentsCache* moments(const Record& text);

  /// All steps are done.
  void finish();

 private:
  /// What the steps of a plan share.
  struct Shared {
    std::vector<ModelSource> sources;
    std::optional<StoredItems> stored;
    std::optional<MomentsCache> moments;
    std::atomic<std::size_t> done = 0, expected = 0;
  };

  ItemInputs inputs_of(const std::string& name, const Record& facts) const;

  const Context* context_;
  std::shared_ptr<Shared> shared_;
  Record made_of_;  // of steps of a model that was made
};

// What a plan holds for: shrink refuses another model, and another text.

/// Of all bytes of a model, and of its config.
std::string model_hash(const Model& model);
/// Of the windows of a text, of what encoders read, and of which tokens count.
std::string windows_hash(const TextWindows& text);
/// Of a method, its size, and all that it keeps.
std::string choice_hash(const Choice& choice);

}  // namespace attnscope
