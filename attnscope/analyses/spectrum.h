// `spectrum`: models × layers × matrices (× heads) → rows of spectra.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/analyses/requested_rank.h"
#include "attnscope/analyses/selection.h"
#include "attnscope/results/sink.h"
#include "attnscope/run/analysis.h"
#include "attnscope/run/context.h"

namespace attnscope {

struct SpectrumRequest {
  std::vector<Role> matrices;  // empty: the projections that each model has
  LayerSelection layers;
  bool per_head = false;
  std::vector<double> thresholds = {0.9, 0.99};  // ascending, each in (0, 1)
  std::vector<Rank> ranks;                       // to read the kept energy at
  bool with_values = false;
};

/// The parameters of a report that every spectrum has.
Record spectrum_parameters(const SpectrumRequest& request);

/// Spectra of matrices, products and tensors.
const Analysis& spectrum_analysis();

/// Rows by model, layer, matrix (as asked), then the whole matrix before its heads.
void run_spectrum(std::span<const Model> models, const SpectrumRequest& request,
                  const Context& context, RowSink& sink);

/// The spectrum of one 2-D tensor as it is stored, from each checkpoint; needs no known
/// architecture. `names` are the checkpoints'. Uses the request's thresholds, ranks and values; a
/// rank that is a share of the width has no meaning here and is Error(usage).
void run_tensor_spectrum(std::span<const std::shared_ptr<const Checkpoint>> checkpoints,
                         std::span<const std::string> names, const std::string& tensor,
                         const SpectrumRequest& request, const Context& context, RowSink& sink);

}  // namespace attnscope
