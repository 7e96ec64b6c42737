#include "attnscope/numerics/inference/linear_parts.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/inference/kernels/linear_panels.h"

namespace attnscope {
namespace {

using kernels::kPanel;
using kernels::kPanelGroup;

/// Where outputs of a group lie in a file.
using GroupRows = std::array<const std::byte*, kPanelGroup>;

struct Group {
  GroupRows outputs = {};  // the first wanted weight of each
  std::size_t filled = 0;  // outputs that there are
  DType dtype = DType::f32;
  std::int64_t input_step = 0;  // in elements
  bool alike = true;            // plain elements, all of one dtype and input_step
  bool outputs_adjoin = true;   // each is the element after the one before
};

Group group_at(std::span<const TensorMatrix> parts, std::int64_t first, std::int64_t first_col) {
  Group group;
  std::int64_t part_first = 0;
  for (const TensorMatrix& part : parts) {
    const bool plain = part.tensor.source == nullptr;
    const auto bytes = static_cast<std::int64_t>(dtype_info(part.tensor.dtype).bits / 8);
    while (group.filled < kPanelGroup) {
      const std::int64_t row = first + static_cast<std::int64_t>(group.filled) - part_first;
      if (row >= part.rows) break;
      const std::int64_t element = part.row_start(row) + first_col * part.col_stride;
      const std::byte* at = plain ? part.tensor.bytes.data() + element * bytes : nullptr;
      group.alike &= plain;
      if (group.filled == 0) {
        group.dtype = part.tensor.dtype;
        group.input_step = part.col_stride;
      } else {
        group.alike &= part.tensor.dtype == group.dtype && part.col_stride == group.input_step;
        group.outputs_adjoin &= plain && at == group.outputs[group.filled - 1] + bytes;
      }
      group.outputs[group.filled++] = at;
    }
    part_first += part.rows;
  }
  std::fill(group.outputs.begin() + static_cast<std::ptrdiff_t>(group.filled), group.outputs.end(),
            group.outputs[0]);
  return group;
}

}  // namespace

void decode_stacked(std::span<const TensorMatrix> parts, std::int64_t first, std::int64_t first_col,
                    MatrixView<float> out) {
  std::int64_t part_first = 0;
  for (const TensorMatrix& part : parts) {
    const std::int64_t begin = std::max(first, part_first);
    const std::int64_t end = std::min(first + out.rows, part_first + part.rows);
    if (begin < end) {
      decode_block(part, begin - part_first, first_col, out.row_block(begin - first, end - begin));
    }
    part_first += part.rows;
  }
}

void decode_panel(std::span<const TensorMatrix> parts, const PanelInputs& inputs,
                  std::int64_t place, std::int64_t depth, const Compute& compute, float* panel) {
  const auto count = static_cast<std::size_t>(inputs.count);
  std::int64_t first = 0;
  Group group;
  for (std::size_t at = 0; at < kPanel / kPanelGroup; ++at) {
    const std::int64_t next = inputs.index * static_cast<std::int64_t>(kPanel) +
                              static_cast<std::int64_t>(at * kPanelGroup);
    const Group next_group = group_at(parts, next, inputs.first);
    if (next_group.filled > 0) {
      first = next;
      group = next_group;
    }
    const kernels::PanelPlace to = {.panel = panel,
                                    .depth = static_cast<std::size_t>(depth),
                                    .group = at,
                                    .first = static_cast<std::size_t>(place),
                                    .count = count};
    const bool direct = group.alike && kernels::is_packed_directly(group.dtype);
    if (direct && group.input_step == 1) {
      kernels::pack_output_rows(compute.kernels, group.dtype, group.outputs.data(), to);
      continue;
    }
    if (direct && group.outputs_adjoin && group.filled == kPanelGroup) {
      const std::int64_t bytes = dtype_info(group.dtype).bits / 8;
      kernels::pack_input_rows(compute.kernels, group.dtype, group.outputs[0],
                               group.input_step * bytes, to);
      continue;
    }
    thread_local AlignedBuffer<float> memory;
    float* lines = memory.reserve(kPanelGroup * count);
    decode_stacked(parts, first, inputs.first,
                   {lines, static_cast<std::int64_t>(group.filled), inputs.count, inputs.count, 1});
    GroupRows decoded;
    for (std::size_t output = 0; output < kPanelGroup; ++output) {
      decoded[output] =
          reinterpret_cast<const std::byte*>(lines + (output < group.filled ? output : 0) * count);
    }
    kernels::pack_output_rows(compute.kernels, DType::f32, decoded.data(), to);
  }
}

}  // namespace attnscope
