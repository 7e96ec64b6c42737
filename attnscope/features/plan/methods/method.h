// A method of compression: what it leaves of a model, and all that plans need to know of it. One
// file for each method; methods.cpp lists them. Formulas and sources: docs/plan.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/calibration/text_statistics.h"
#include "attnscope/features/common/changed_model.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/features/plan/model_size.h"

namespace attnscope {

class Planner;
struct MethodInfo;

/// One of methods(), each of which exists once. Never null in a choice.
using Method = const MethodInfo*;

/// One method at one size: all that is needed to compress a model on a text again.
struct Choice {
  Method method = nullptr;
  /// What is left, in the method's own unit: layers, neurons of an MLP, elements of the residual
  /// stream or of a head, key/value heads, heads, experts of a layer. Of mla rotary elements; of
  /// low_rank parameters of the factors.
  std::int64_t size = 0;
  std::int64_t joint = 0;  // of mla: elements of the latent that are not rotary
  bool exact =
      false;  // of mla: every kept key dimension is rotary, so the latent holds values only
  /// The numbers that stay, ascending. Of depth and head_dim (rotary pairs) one list; of mlp, heads
  /// and experts one per layer, empty for a layer without experts. Of mlp the layers of
  /// stack_of_same_width() follow.
  std::vector<std::vector<std::int64_t>> kept;
  std::map<LayerMatrix, std::int64_t> ranks;  // of low_rank; a matrix that is not named stays

  bool operator==(const Choice&) const = default;
};

/// What the rows of a plan describe.
enum class PlanRows {
  model,    // one row
  layer,    // a row per layer
  removal,  // a row per layer, which stays or goes
  matrix,   // a row per matrix, with its rank
};

/// What is wrong with a choice of an edited plan.
struct ChoiceProblem {
  std::string field;  // of the plan: "size" or "joint"
  std::string problem;
};

/// A function that is null has the default that its comment names.
struct MethodInfo {
  std::string_view name;           // in arguments and plans: "kv-heads"
  std::string_view set_name = "";  // in arguments of `set`; empty: `name`
  std::string_view set_example;    // "kv-heads=1"
  bool loadable = true;            // stock transformers loads what is left, smaller than before
  std::string_view remark = "";    // what it loads it as, or why it does not
  bool combines = true;            // it may be one of several, each applied to what the last left
  bool is_rounded = false;         // sizes are multiples of `round`
  bool both_stacks = false;        // it also changes stack_of_same_width()
  /// Keys and values become latents. Sizes count elements of the cache per token and layer, the
  /// largest is another kind of model, and Choice::joint and Choice::exact are used.
  bool makes_latents = false;
  std::string_view why_no_keep = "";  // why no share of the parameters may be asked for
  PlanRows rows = PlanRows::model;
  /// Rows list what stays: one number for each `list_unit` units of the size. 0: they list nothing.
  std::int64_t list_unit = 0;
  /// Whether the row of a layer may list something. Null: always.
  bool (*changes_layer)(const Model& model, std::int64_t layer) = nullptr;

  /// Which of a model's dimensions the method cuts, and what they are after that. Null: none.
  std::int64_t (*whole)(const Dimensions& dimensions) = nullptr;
  void (*cut)(Dimensions& dimensions, std::int64_t size) = nullptr;

  /// Why the model cannot be compressed so; empty if it can. Asked only about models that run.
  std::string (*why_not)(const Model& model) = nullptr;
  /// The sizes that it can have, descending, the model's own first; none of low_rank.
  std::vector<std::int64_t> (*sizes)(const Model& model) = nullptr;
  /// What to remove to come to that size. Null: the size says all.
  Choice (*choose)(const Model& model, std::int64_t size, const TextStatistics& text,
                   const Compute& compute) = nullptr;
  /// The same with what a planner measures or has computed before. Null: `choose`.
  Choice (*search)(Planner& planner, std::int64_t size) = nullptr;
  /// Steps that `search` takes for these sizes together. Null: none.
  std::size_t (*search_steps)(const Model& model, std::span<const std::int64_t> sizes) = nullptr;
  /// A choice of that size that is enough for `size_after`. Null: the size alone.
  Choice (*sketch)(Planner& planner, std::int64_t size) = nullptr;

  /// The model that is left. Throws Error(format) for a choice that does not fit the model.
  ChangedModel (*make)(const Model& model, const Choice& choice, const TextStatistics& text,
                       const Compute& compute) = nullptr;
  /// What `before`, size_of(model), becomes: known without making the model.
  ModelSize (*size_after)(const Model& model, const ModelSize& before,
                          const Choice& choice) = nullptr;

  /// Elements that are recomputed, at most. Null: none, so nothing is fitted.
  std::uint64_t (*changed_elements)(const Model& model) = nullptr;
  /// Bytes of what is computed from second moments at one time. Null: none.
  std::uint64_t (*fitting_bytes)(const Model& model, const Context& context) = nullptr;

  /// A choice in words; `whole`: the model's own size. Null: "6 → 5".
  std::string (*words)(const Choice& choice, std::int64_t whole) = nullptr;
  /// A complete choice from the value of `set`; nothing if it is none. Null: a size alone, for
  /// which `choose` decides the rest.
  std::optional<Choice> (*parse_set)(const std::string& value, const Model& model) = nullptr;
  /// The target of a plan that makes this choice again. Null: "set kv-heads=1".
  std::string (*target)(const Model& model, const Choice& choice, const ModelSize& after) = nullptr;
  /// Checks the size of a plan's entry. Null: it is one of `sizes`.
  std::optional<ChoiceProblem> (*check)(const Model& model, const Choice& choice) = nullptr;

  /// Sizes are budgets of parameters, which are allocated to matrices as ranks.
  constexpr bool allocates_ranks() const { return rows == PlanRows::matrix; }
};

}  // namespace attnscope
