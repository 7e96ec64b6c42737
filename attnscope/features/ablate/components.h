// What `ablate` replaces, by its names, and what that costs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/interventions/ablation.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// head, attention, mlp.
std::string_view part_name(LayerPart part);

/// mean, zero, resample. Throws refuse_field("ablation") for others.
Replacement replacement_named(const std::string& name);

/// A list of all, heads, attention, mlp, and layers (attention and MLP): "heads,mlp".
AskedParts parts_named(const std::string& kinds);

/// `parts`, or where they are empty all, without heads where those of `layers` are more than
/// kUsualHeads, which a note says.
std::string parts_or_usual(const std::string& parts, const Model& model,
                           const std::vector<std::int64_t>& layers, RowSink& sink);

std::int64_t count_parts(const AskedParts& parts, const Model& model, std::int64_t layer);

/// What is run: rows of all texts, and of the longest; of an encoder-decoder also those of sources.
struct AblationRows {
  std::int64_t all = 0, longest = 0;
  std::int64_t sources = 0, longest_source = 0;
};

/// Of one layer's parts.
double ablation_flops(const AskedParts& parts, const Model& model, std::int64_t layer,
                      const AblationRows& rows);
std::uint64_t ablation_bytes(const Model& model, const AblationRows& rows);

}  // namespace attnscope
