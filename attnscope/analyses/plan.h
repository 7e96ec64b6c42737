// Which smaller model to make of a model, and what it costs: measured on a held-out text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/analyses/selection.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/model/model.h"
#include "attnscope/results/sink.h"
#include "attnscope/rewrite/model_writer.h"
#include "attnscope/run/context.h"
#include "attnscope/smaller/choice.h"
#include "attnscope/smaller/measure.h"
#include "attnscope/smaller/plan_file.h"

namespace attnscope {

/// Windows of the text that a plan is made with, and of the one that it is measured on.
struct PlanText {
  std::vector<TokenIds> calibration, held_out;
  std::vector<TokenIds> calibration_sources, held_out_sources;  // see TextWindows
  std::vector<TokenIds> calibration_scored, held_out_scored;    // see TextWindows
  std::optional<std::int64_t> mask;  // of models that see a text both ways: see TextWindows
  Record parameters;                 // what the report says of them
  std::vector<std::string> notes;    // what its user should know
  bool copy_weights = true;          // of models that run it: see TextWindows

  TextWindows fitted() const {
    return {.windows = calibration,
            .sources = calibration_sources,
            .scored = calibration_scored,
            .copy_weights = copy_weights};
  }
  TextWindows measured() const {
    return {.windows = held_out,
            .mask = mask,
            .sources = held_out_sources,
            .scored = held_out_scored,
            .copy_weights = copy_weights};
  }
};

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

/// Of a plan's report: see smaller/plan_file.h.
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
