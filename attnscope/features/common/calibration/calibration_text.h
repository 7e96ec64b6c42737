// The calibration text and the evaluation text of a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/command.h"

namespace attnscope {

/// Windows of the calibration text and of the evaluation text.
struct PlanText {
  std::vector<TokenIds> calibration, held_out;
  std::vector<TokenIds> calibration_sources, held_out_sources;  // see TextWindows
  std::vector<TokenIds> calibration_scored, held_out_scored;    // see TextWindows
  std::optional<std::int64_t> mask;  // mask token of bidirectional models: see TextWindows
  Record parameters;                 // report parameters that describe the texts
  std::vector<std::string> notes;    // notes for the user
  bool copy_weights = true;          // see TextWindows

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

/// How to cut a text into windows; empty: default.
struct PlanWindows {
  std::optional<std::int64_t> sequences, length;
  std::optional<std::uint64_t> sample;
};

/// Consecutive windows of a text. Their total length is 16 times the number of inputs of the widest
/// matrix; each is as long as the context, at most 2048 tokens.
std::vector<TokenIds> text_windows(const Session& session, const Model& model,
                                   const std::string& path);

/// Returns windows of the calibration file and of the evaluation file, by default the last tenth of
/// the text. By default windows are as long as the context, at most 2048 tokens. Their total length
/// is 16 times the number of inputs of the widest matrix. For encoder-decoders: pairs of lines of
/// `text_file` and `target_file`, each cut to that length, with the evaluation pairs from
/// `held_out` and `eval_target_file` or the last tenth. Throws Error(usage) if the text is too
/// short for both.
PlanText plan_text(const Arguments& arguments, const Session& session, const Model& model,
                   const PlanWindows& windows);

}  // namespace attnscope
