// Weights of a linear layer as its products want them: panels of kPanel outputs.
#pragma once

#include <cstddef>

#include "attnscope/numerics/instruction_set.h"
#include "attnscope/tensor/dtype.h"

namespace attnscope::kernels {

/// Outputs of a panel, which holds depth * kPanel weights for `depth` inputs; in which order is the
/// kernels' own.
inline constexpr std::size_t kPanel = 48;
/// Outputs that are written together, as they come from a file.
inline constexpr std::size_t kPanelGroup = 16;

/// Whether elements of that dtype can be packed straight from a file: F32, F16 and BF16.
bool is_packed_directly(DType dtype);

/// A part of a panel: inputs [first, first + count) of the outputs of group `group`.
struct PanelPlace {
  float* panel;
  std::size_t depth;
  std::size_t group;
  std::size_t first;
  std::size_t count;
};

/// outputs[o] is the first of `count` weights of output o, which lie together.
void pack_output_rows(Kernels kernels, DType dtype, const std::byte* const* outputs,
                      const PanelPlace& place);

/// The weights of one input lie together for kPanelGroup outputs; those of the next input are
/// `step` bytes on.
void pack_input_rows(Kernels kernels, DType dtype, const std::byte* inputs, std::ptrdiff_t step,
                     const PanelPlace& place);

}  // namespace attnscope::kernels
