// Weights of a linear layer, packed for products: panels of kPanel outputs.
#pragma once

#include <cstddef>

#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/tensor/dtype.h"

namespace attnscope::kernels {

/// Outputs of a panel. A panel holds depth * kPanel weights for `depth` inputs, in an order that
/// only the kernels know.
inline constexpr std::size_t kPanel = 48;
/// Outputs that are packed together, as they come from a file.
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

/// outputs[o] points to the `count` contiguous weights of output o.
void pack_output_rows(Kernels kernels, DType dtype, const std::byte* const* outputs,
                      const PanelPlace& place);

/// The weights of one input for kPanelGroup outputs are contiguous; those of the next input follow
/// after `step` bytes.
void pack_input_rows(Kernels kernels, DType dtype, const std::byte* inputs, std::ptrdiff_t step,
                     const PanelPlace& place);

}  // namespace attnscope::kernels
