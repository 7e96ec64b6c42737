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
#include "attnscope/features/framework/arguments.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// The options for each matrix, from the arguments of `spectrum`; for callers that already have the
/// matrix, too.
Record spectrum_options(const Arguments& arguments);

struct SpectrumRequest {
  std::vector<Role> matrices;  // empty: all projections of each model
  LayerSelection layers;
  ExpertSelection experts;
  bool per_head = false;
  Record options;  // options of each row, read by spectrum_fields() and shown in reports
  std::optional<MlaText> text = {};  // for MLA models; none: white input
};

/// Parses the options of a spectrum row, named like the command's parameters: "energy" (thresholds,
/// ascending, each in (0, 1)), "values" (a flag), and "rank" (optional, a list of texts). `width`
/// is the hidden size, or 0 if there is none. Throws Error(format) for missing or invalid options,
/// such as a share of an unknown hidden size.
SpectrumFields spectrum_fields(const Record& options, std::int64_t width);

/// Throws Error(usage) for a rank relative to the hidden size, if `asked_of` ("an array") has none.
void refuse_ranks_by_width(const Record& options, const std::string& asked_of);

/// Spectra of matrices, products and tensors.
const Analysis& spectrum_analysis();

/// Rows by model, layer and matrix (as requested), then the whole matrix before its heads.
void run_spectrum(std::span<const Model> models, const SpectrumRequest& request,
                  const Context& context, RowSink& sink);

/// The spectrum of one 2-D tensor as stored, from each checkpoint; works for any architecture.
/// `names` are the names of the checkpoints. A rank relative to the hidden size is Error(usage).
void run_tensor_spectrum(std::span<const std::shared_ptr<const Checkpoint>> checkpoints,
                         std::span<const std::string> names, const std::string& tensor,
                         const Record& options, const Context& context, RowSink& sink);

}  // namespace attnscope
