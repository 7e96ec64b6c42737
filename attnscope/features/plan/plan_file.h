// A plan file written by `attnscope plan`, possibly edited by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/features/plan/methods/method.h"
#include "attnscope/features/plan/model_size.h"

namespace attnscope {

/// One row of a plan, in file order.
struct PlanRow {
  Method method = nullptr;
  std::string model;                    // the name of the model, or of the other stack
  std::optional<std::int64_t> layer;    // empty: the row is about the whole model
  std::optional<Role> matrix;           // low_rank
  std::optional<std::int64_t> rank;     // low_rank; empty: not factored
  std::vector<std::int64_t> kept = {};  // for methods that list what they keep
  std::int64_t parameters = 0, parameters_after = 0;
  std::optional<std::int64_t> break_even_rank = {}, max_possible_rank = {};  // low_rank
  std::optional<double> predicted_kl = {};                                   // low_rank; nats
};

/// Figures of a plan that are only checked, not used.
struct PlanSummary {
  std::string choice, remark;       // in words
  std::int64_t size = 0;            // for one method; otherwise 0
  std::vector<std::int64_t> sizes;  // per method
  bool loadable = true;
  std::optional<double> predicted_kl = {};  // low_rank; nats
};

/// The largest ridge. At this value the text no longer matters.
inline constexpr double kMostRidge = 1e12;

struct PlanFile {
  std::vector<Choice>
      choices;  // one, or several combined, each applied to the output of the previous one
  PlanSummary summary;
  std::vector<PlanRow> rows;
  std::string model;        // name of the model when it was planned
  ModelSize before, after;  // parameters and bytes of the cache per token
  double ridge = 0.01;
  double mean_nll_before = 0, mean_nll_after = 0;
  std::string tokens_hash, eval_hash, model_hash;
  std::string stack;  // for a model with several stacks
  // How the text was divided into windows:
  std::int64_t sequences = 0, length = 0;
  std::optional<std::int64_t> sample;
  bool lines = false;           // each line was an example
  std::string score_positions;  // which tokens were scored; empty: all
  bool own_held_out = false;    // measured on a separate file, not on the end of the text
  std::string rank_allocation;
  std::string target;  // the requested target: "keep 0.8"
};

/// Reads a plan and checks what can be checked without the model: types, ranges, one row per layer
/// in order, and perplexities that agree with their losses. Throws Error(format) that names the
/// file, row and field, and Error(usage) for a comparison that selects no method.
PlanFile read_plan(std::string_view text, std::string_view place);

/// Checks the plan against its model: names of layers and matrices, sizes, kept indices, ranks and
/// remaining parameters. Throws Error(format) as read_plan() does.
void check_plan_of_model(const PlanFile& plan, const Model& model, std::string_view place);

/// Checks that the figures of the plan agree with its rows and the model: parameters, KV cache,
/// FLOPs, sizes and descriptions. Called by check_plan_of_model() after the rows were checked.
void check_plan_figures(const PlanFile& plan, const Model& model, std::string_view place);

/// "rows[3].kept": the name of a field of a row in errors.
std::string row_place(std::size_t row, std::string_view field);

}  // namespace attnscope
