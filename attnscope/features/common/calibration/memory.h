// What a run over a calibration text takes in memory, known before it starts.
#pragma once

#include <cstdint>
#include <span>

#include "attnscope/engine/context.h"
#include "attnscope/features/common/calibration/evaluation.h"
#include "attnscope/model/model.h"

namespace attnscope {

/// Beside the model's files, in bytes. Not all is there at once.
struct PlanMemory {
  std::uint64_t moments = 0;         // second moments of as many layers as fit
  std::int64_t passes = 1;           // over the text for those of all layers
  std::uint64_t copies = 0;          // of the model's weights, laid out for products
  std::uint64_t smaller = 0;         // numbers of a smaller model
  std::uint64_t smaller_copies = 0;  // of its weights, while it is run
  std::uint64_t matrices = 0;        // spectra and factors that are made of moments
  std::uint64_t run = 0;             // of a text through a model

  /// At most, at any time: a smaller model is made, and then it is run.
  std::uint64_t peak() const;
};

/// Bytes of running these windows: states and logits of a batch, and what the program itself holds.
std::uint64_t run_bytes_of(const Model& model, const TextWindows& text);

/// Of spectra on a text alone (`spectrum --activations`).
PlanMemory activation_memory(const Model& model, std::span<const TokenIds> windows,
                             const Context& context);

}  // namespace attnscope
