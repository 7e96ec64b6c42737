// Which smaller model to make of a model, and what it costs: measured on a held-out text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/plan/methods/method.h"
#include "attnscope/features/plan/plan_file.h"
#include "attnscope/features/plan/writing/checkpoint_writer.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// What a plan must come to. At most one is set; none: the menu.
struct PlanTarget {
  std::string text;                // as it was asked for; empty: none
  std::optional<double> keep;      // share of the parameters; of `ranks` of the projections'
  std::optional<double> kv_bytes;  // share of the cache's bytes a token, or bytes from 2 on
  std::optional<double> loss;      // the most that the mean negative log likelihood may rise, nats
  std::optional<double> perplexity;  // or what the perplexity may be
  std::optional<Choice> set;         // exactly this; its lists may be left to choose
};

enum class RankMethod { kl, energy, uniform, plain };

struct PlanRequest {
  PlanText text;
  /// None: all that the architecture can take; several are combined, in this order.
  std::vector<Form> by;
  PlanTarget target;
  RankMethod method = RankMethod::kl;
  double ridge = 0.01;
  std::int64_t probe_tokens = 1024;
  std::int64_t round = 1;                // ranks and widths are multiples of it
  std::int64_t held_out_sequences = 32;  // windows on which orders and the menu are measured
  std::vector<Role> matrices;            // that may get a lower rank; none: all
  LayerSelection layers;
};

/// Rows: without a target each form at several sizes; with one, each layer or matrix of the plan.
/// Throws Error(unsupported) for a form that the architecture cannot take, or a model that
/// foretells no tokens and fills no masks; Error(numerical) for a target that no size reaches.
void run_plan_of_model(const Model& model, const PlanRequest& request, const Context& context,
                       RowSink& sink);

/// Of a plan's report: see features/plan/plan_file.h.
struct ShrinkRequest {
  std::string plan_text;   // of PLAN.json
  std::string plan_place;  // its file's name
  PlanFile plan;           // checked by check_plan()
  PlanText text;
  std::filesystem::path folder;
  WrittenForm form;  // its card is made here
};

/// Checks all of a plan but its text. Throws Error(format) for a plan of another model, or one that
/// does not fit the model.
void check_plan(const PlanFile& plan, const Model& model, std::string_view place);

/// Writes the model that a plan leaves, opens it, and measures it. Rows: its tensors. Throws
/// Error(format) for a plan of another text. The folder appears when all is done.
void run_shrink(const Model& model, const ShrinkRequest& request, const Context& context,
                RowSink& sink);

}  // namespace attnscope
