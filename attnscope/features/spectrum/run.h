// `spectrum`: models × layers × matrices (× heads) → rows of spectra.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/context.h"
#include "attnscope/features/common/expert_selection.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/mla_latents.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct SpectrumRequest {
  std::vector<Role> matrices;  // empty: the projections that each model has
  LayerSelection layers;
  ExpertSelection experts;
  bool per_head = false;
  Record options;  // what is asked of each: spectrum_fields() reads it, and every report says it
  std::optional<MlaText> text = {};  // of models with latents; none: on white input
};

/// The fields of a row that these options ask for, by the names of the command's parameters:
/// "energy", thresholds ascending, each in (0, 1); "values", a flag; "rank", where some are asked
/// for, a list of texts. `width` is the model's, or 0 where there is none. Throws Error(format) for
/// options that are absent or something else, such as a share of a width that there is not.
SpectrumFields spectrum_fields(const Record& options, std::int64_t width);

/// Throws Error(usage) for a rank that is a share of the width, of something ("an array") that has
/// none.
void refuse_ranks_by_width(const Record& options, const std::string& asked_of);

/// Spectra of matrices, products and tensors.
const Analysis& spectrum_analysis();

/// Rows by model, layer, matrix (as asked), then the whole matrix before its heads.
void run_spectrum(std::span<const Model> models, const SpectrumRequest& request,
                  const Context& context, RowSink& sink);

/// The spectrum of one 2-D tensor as it is stored, from each checkpoint; needs no known
/// architecture. `names` are the checkpoints'. A rank that is a share of the width has no meaning
/// here and is Error(usage).
void run_tensor_spectrum(std::span<const std::shared_ptr<const Checkpoint>> checkpoints,
                         std::span<const std::string> names, const std::string& tensor,
                         const Record& options, const Context& context, RowSink& sink);

}  // namespace attnscope
