// A plan as `attnscope plan` wrote it, perhaps edited by hand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/features/plan/methods/method.h"
#include "attnscope/features/plan/model_size.h"

namespace attnscope {

/// What a row of a plan decides, in the order of the file.
struct PlanRow {
  Method method = nullptr;
  std::string model;                    // the name of the model, or of the other stack
  std::optional<std::int64_t> layer;    // none: the row is about the whole model
  std::optional<Role> matrix;           // of low_rank
  std::optional<std::int64_t> rank;     // of low_rank; none: the matrix stays whole
  std::vector<std::int64_t> kept = {};  // of methods that list what stays
  std::int64_t parameters = 0, parameters_after = 0;
  std::optional<std::int64_t> break_even_rank = {}, max_possible_rank = {};  // of low_rank
  std::optional<double> predicted_kl = {};                                   // of low_rank; nats
};

/// What a plan says in addition to what is used: only checked.
struct PlanSummary {
  std::string choice, remark;       // in words
  std::int64_t size = 0;            // of one method; else 0
  std::vector<std::int64_t> sizes;  // of each method
  bool loadable = true;
  std::optional<double> predicted_kl = {};  // of low_rank; nats
};

/// The largest share of the mean second moment that may be added: compared with it, a text has no
/// weight.
inline constexpr double kMostRidge = 1e12;

struct PlanFile {
  std::vector<Choice> choices;  // one, or several that combine, each of what the one before left
  PlanSummary summary;
  std::vector<PlanRow> rows;
  std::string model;        // its name when it was planned
  ModelSize before, after;  // parameters and bytes of the cache per token
  double ridge = 0.01;
  double mean_nll_before = 0, mean_nll_after = 0;
  std::string tokens_hash, eval_hash, model_hash;
  std::string stack;  // of a model that has several
  // How the text was cut into windows:
  std::int64_t sequences = 0, length = 0;
  std::optional<std::int64_t> sample;
  bool lines = false;           // each line was an example
  std::string score_positions;  // which tokens counted; empty: all
  bool own_held_out = false;    // measured on a file of its own, not on the end of the text
  std::string rank_allocation;
  std::string target;  // what was asked for: "keep 0.8"
};

/// Checks all that can be checked without the model: types, ranges, one row for each layer in the
/// order of layers, and perplexities that agree with their losses. Throws Error(format) that names
/// the file, the row and the field, Error(usage) for a menu, which chooses no method.
PlanFile read_plan(std::string_view text, std::string_view place);

/// Checks the plan against the model that it was made for: layers and matrices by name, sizes, what
/// is kept, ranks, and the parameters that are left. Throws Error(format) as read_plan() does.
void check_plan_of_model(const PlanFile& plan, const Model& model, std::string_view place);

/// Whether what the plan says of itself agrees with its rows and the model: parameters of each row
/// and of the whole, the cache, FLOPs, sizes and words. For a plan whose rows fit the model; called
/// by check_plan_of_model().
void check_plan_figures(const PlanFile& plan, const Model& model, std::string_view place);

/// "rows[3].kept": the name of a field of a row in errors.
std::string row_place(std::size_t row, std::string_view field);

}  // namespace attnscope
