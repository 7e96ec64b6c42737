// The text that a smaller model is fitted to, and the one that it is measured on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/command.h"

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

/// text_file, token_file, held_out, target_file, eval_target_file.
Parameters plan_text_parameters();
std::vector<Exclusion> plan_text_exclusions();

/// How a text is cut; none: as usual.
struct PlanWindows {
  std::optional<std::int64_t> sequences, length;
  std::optional<std::uint64_t> sample;
};

/// Windows of a text, one after the other: so many as 16 times as many tokens need as the widest
/// matrix has inputs, each as long as the context, at most 2048 tokens.
std::vector<TokenIds> text_windows(const Session& session, const Model& model,
                                   const std::string& path);

/// Tells the user, before anything runs, what will be held beside the model.
void report_memory(const Session& session, const PlanMemory& memory);

/// Windows of the file for calibration, and of the held-out file. Where none is named, the last
/// tenth of the text is held out. By default windows are as long as the context, at most 2048
/// tokens, and so many that 16 times as many tokens are read as the widest matrix has inputs.
/// Throws Error(usage) for a text that is too short to have both. Of encoder-decoders pairs of
/// lines of `text_file` and `target_file`, each cut to that length, the last tenth held out, or
/// those of `held_out` and `eval_target_file`.
PlanText plan_text(const Arguments& arguments, const Session& session, const Model& model,
                   const PlanWindows& windows);

}  // namespace attnscope
