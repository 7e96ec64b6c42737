// Names and costs of the components that `ablate` replaces, and means of their effects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/engine/work_item.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/interventions/ablation.h"
#include "attnscope/model/model.h"
#include "attnscope/numerics/statistics/running_mean.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Returns head, attention, mixer or mlp.
std::string_view part_name(LayerPart part);

/// Parses mean, zero or resample. Throws refuse_field("ablation") for other names.
Replacement replacement_named(const std::string& name);

/// Parses a list of all, heads, attention, mixer, mlp and layers (attention, mixer and mlp):
/// "heads,mlp".
AskedParts parts_named(const std::string& kinds);

/// Returns `parts`, or the default if it is empty: all, but without heads if the layers have more
/// than kUsualHeads. A note reports this.
std::string parts_or_usual(const std::string& parts, const Model& model,
                           const LayerSelection& layers, RowSink& sink);

std::int64_t count_parts(const AskedParts& parts, const Model& model, std::int64_t layer);

/// Returns the selected layers that have one of these components. A note names the others. Throws
/// Error(usage) if no layer has one. The cross-attention stack, which has no MLPs, may have none.
std::vector<std::int64_t> layers_with_parts(const AskedParts& parts, const LayerSelection& layers,
                                            const Model& model, RowSink& sink);

/// Size of the input: number of rows of all texts and of the longest text; for an encoder-decoder
/// also those of the sources.
struct AblationRows {
  TextRows texts, sources;
};

AblationRows rows_of(const SequenceBatch& batch);

/// The stack of the item's heads; for texts with sources, within the encoder-decoder.
LayerInStack::Of stack_of(const WorkItem& item, const Model& model);

/// The noun for a text: window, or pair of source and target.
const char* noun_of_text(const ScoredTexts& texts);

/// Throws Error(usage) for a single text, which cannot be resampled, and for texts of different
/// lengths.
void check_resampling(const ScoredTexts& texts, std::size_t model);

/// The mean over all tokens, from sums and token counts per sequence, with the standard error of
/// that ratio over sequences.
MeanWithError mean_over(const std::vector<double>& sums, const std::vector<std::int64_t>& counts);

/// Cost of ablating the components of one layer.
double ablation_flops(const AskedParts& parts, const Model& model, std::int64_t layer,
                      const AblationRows& rows);
/// Cost of ablating sets of heads whose first layer is `layer`.
double set_ablation_flops(std::int64_t sets, const Model& model, std::int64_t layer,
                          const AblationRows& rows);
std::uint64_t ablation_bytes(const Model& model, const AblationRows& rows);

}  // namespace attnscope
