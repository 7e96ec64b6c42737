#include "attnscope/features/common/calibration/memory.h"

#include <algorithm>

#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/common/cost_estimates.h"

namespace attnscope {

std::uint64_t PlanMemory::peak() const {
  return moments + copies + smaller + std::max(matrices, smaller_copies + run);
}

std::uint64_t run_bytes_of(const Model& model, const TextWindows& text) {
  constexpr std::uint64_t kProgram = 48 << 20, kMostLogits = 64 << 20;  // see rows_of_logits()
  std::uint64_t most = 0;
  for (const TextWindows& batch : batches_of(text)) {
    std::int64_t longest = 0, source = 0;
    for (const TokenIds& window : batch.windows) longest = std::max(longest, std::ssize(window));
    for (const TokenIds& window : batch.sources) source = std::max(source, std::ssize(window));
    const std::int64_t sequences = std::ssize(batch.windows);
    const std::uint64_t logits =
        static_cast<std::uint64_t>(sequences * longest *
                                   model.dimensions().vocabulary.value_or(0)) *
        sizeof(float);
    most = std::max(most,
                    run_bytes(model, sequences, longest, source) + std::min(logits, kMostLogits));
  }
  return most + kProgram;
}

PlanMemory activation_memory(const Model& model, std::span<const TokenIds> windows,
                             const Context& context) {
  const Calibration calibration(model, TextWindows{}, context.memory_bytes / 2, /*ridge=*/0);
  return {.moments = calibration.held_bytes(),
          .passes = calibration.passes(),
          .copies = copied_weights_bytes(model, context.memory_bytes),
          .matrices = spectra_bytes(model, /*with_directions=*/false),
          .run = run_bytes_of(model, {.windows = windows})};
}

}  // namespace attnscope
