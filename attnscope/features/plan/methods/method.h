// A compression method, with everything that plans need to know about it. One file per method;
// methods.cpp lists them. Formulas and sources: docs/plan.md.
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

/// One method at one size: everything needed to repeat the compression with the same text.
struct Choice {
  Method method = nullptr;
  /// Remaining size in the unit of the method: layers, MLP neurons, dimensions of the residual
  /// stream or of a head, key/value heads, heads, or experts per layer. For mla, rotary dimensions;
  /// for low_rank, parameters of the factors.
  std::int64_t size = 0;
  std::int64_t joint = 0;  // mla: latent dimensions that are not rotary
  bool exact =
      false;  // mla: every kept key dimension is rotary, so the latent contains only values
  /// The kept indices, ascending. One list for depth and head_dim (rotary pairs); one list per
  /// layer for mlp, heads and experts, empty for a layer without experts. For mlp, the layers of
  /// stack_of_same_width() follow.
  std::vector<std::vector<std::int64_t>> kept;
  std::map<LayerMatrix, std::int64_t> ranks;  // low_rank; other matrices are unchanged

  bool operator==(const Choice&) const = default;
};

/// The kind of rows in a plan.
enum class PlanRows {
  model,    // one row
  layer,    // a row per layer
  removal,  // a row per layer, which is kept or removed
  matrix,   // a row per matrix, with its rank
};

/// A problem with a choice in an edited plan.
struct ChoiceProblem {
  std::string field;  // field of the plan: "size" or "joint"
  std::string problem;
};

/// A null function has the default given in its comment.
struct MethodInfo {
  std::string_view name;           // in arguments and plans: "kv-heads"
  std::string_view set_name = "";  // in arguments of `set`; empty: `name`
  std::string_view set_example;    // "kv-heads=1"
  bool loadable = true;            // transformers loads the compressed model at its smaller size
  std::string_view remark = "";    // how transformers loads it, or why it cannot
  bool combines = true;            // can be combined with other methods
  bool is_rounded = false;         // sizes are multiples of `round`
  bool both_stacks = false;        // also changes stack_of_same_width()
  /// Converts keys and values to latents. Sizes count cached elements per token and layer, the
  /// largest size is the original model, and Choice::joint and Choice::exact are used.
  bool makes_latents = false;
  std::string_view why_no_keep = "";  // why a share of the parameters cannot be the target
  PlanRows rows = PlanRows::model;
  /// Rows list the kept indices, one for each `list_unit` units of the size. 0: no lists.
  std::int64_t list_unit = 0;
  /// Whether the method changes this layer, so that its row has a list. Null: always.
  bool (*changes_layer)(const Model& model, std::int64_t layer) = nullptr;

  /// The dimension that the method reduces, and a function that reduces it. Null: none.
  std::int64_t (*whole)(const Dimensions& dimensions) = nullptr;
  void (*cut)(Dimensions& dimensions, std::int64_t size) = nullptr;

  /// Why the method does not support the model; empty if it does. Called only for models that run.
  std::string (*why_not)(const Model& model) = nullptr;
  /// The possible sizes in descending order, the original size first; empty for low_rank.
  std::vector<std::int64_t> (*sizes)(const Model& model) = nullptr;
  /// Chooses what to remove for this size. Null: the size alone determines it.
  Choice (*choose)(const Model& model, std::int64_t size, const TextStatistics& text,
                   const Compute& compute) = nullptr;
  /// The same, using measurements of a planner. Null: `choose`.
  Choice (*search)(Planner& planner, std::int64_t size) = nullptr;
  /// Number of steps that `search` takes for all these sizes. Null: none.
  std::size_t (*search_steps)(const Model& model, std::span<const std::int64_t> sizes) = nullptr;
  /// A choice of this size that suffices for `size_after`. Null: the size alone.
  Choice (*sketch)(Planner& planner, std::int64_t size) = nullptr;

  /// Makes the compressed model. Throws Error(format) if the choice does not fit the model.
  ChangedModel (*make)(const Model& model, const Choice& choice, const TextStatistics& text,
                       const Compute& compute) = nullptr;
  /// The size after compression, computed without making the model. `before`: size_of(model).
  ModelSize (*size_after)(const Model& model, const ModelSize& before,
                          const Choice& choice) = nullptr;

  /// Maximum number of recomputed elements. Null: none, so no calibration is needed.
  std::uint64_t (*changed_elements)(const Model& model) = nullptr;
  /// Peak bytes of computations with second moments. Null: none.
  std::uint64_t (*fitting_bytes)(const Model& model, const Context& context) = nullptr;

  /// Description of a choice; `whole`: the original size. Null: "6 → 5".
  std::string (*words)(const Choice& choice, std::int64_t whole) = nullptr;
  /// Parses the value of `set` as a complete choice; empty if it is invalid. Null: the value is a
  /// size, and `choose` decides the rest.
  std::optional<Choice> (*parse_set)(const std::string& value, const Model& model) = nullptr;
  /// The target that selects this choice again. Null: "set kv-heads=1".
  std::string (*target)(const Model& model, const Choice& choice, const ModelSize& after) = nullptr;
  /// Checks the size of a choice in a plan. Null: it must be one of `sizes`.
  std::optional<ChoiceProblem> (*check)(const Model& model, const Choice& choice) = nullptr;

  /// Whether sizes are parameter budgets, which are allocated to matrices as ranks.
  constexpr bool allocates_ranks() const { return rows == PlanRows::matrix; }
};

}  // namespace attnscope
