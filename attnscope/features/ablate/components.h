// Names and costs of the components that `ablate` replaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/features/common/sequence_batches.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/interventions/ablation.h"
#include "attnscope/model/model.h"
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

/// Cost of ablating the components of one layer.
double ablation_flops(const AskedParts& parts, const Model& model, std::int64_t layer,
                      const AblationRows& rows);
std::uint64_t ablation_bytes(const Model& model, const AblationRows& rows);

}  // namespace attnscope
