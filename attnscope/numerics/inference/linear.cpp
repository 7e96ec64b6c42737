#include "attnscope/numerics/inference/linear.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/matrix_view.h"
#include "attnscope/numerics/aligned_buffer.h"
#include "attnscope/numerics/compute.h"
#include "attnscope/numerics/inference/activations.h"
#include "attnscope/numerics/inference/kernels/kernels.h"
#include "attnscope/numerics/lapack/lapack.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {
namespace {

// Decoding of the weights of a linear layer from a file.

/// Decodes rows [first, first + out.rows) and columns from `first_col` on of the stacked matrices
/// `parts`, as float32, into `out`, which has contiguous rows.
void decode_stacked(std::span<const TensorMatrix> parts, std::int64_t first, std::int64_t first_col,
                    MatrixView<float> out);

/// Decodes into a panel of kernels/kernels.h: inputs [first, first + count) of the outputs of panel
/// `index`, written from input `place` on in a panel of `depth` inputs. Outputs beyond the last one
/// repeat others, because products read them and discard their sums.
struct PanelInputs {
  std::int64_t index = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};
void decode_panel(std::span<const TensorMatrix> parts, const PanelInputs& inputs,
                  std::int64_t place, std::int64_t depth, const Compute& compute, float* panel);

using kernels::kPanel;
using kernels::kPanelGroup;

/// Position of the outputs of a group in a file.
using GroupRows = std::array<const std::byte*, kPanelGroup>;

struct Group {
  GroupRows outputs = {};  // first requested weight of each output
  std::size_t filled = 0;  // number of valid outputs
  DType dtype = DType::f32;
  std::int64_t input_step = 0;  // in elements
  bool alike = true;            // unquantized, with one dtype and input_step
  bool outputs_adjoin = true;   // outputs are contiguous elements
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
        const std::byte* before = group.outputs[group.filled - 1];
        group.outputs_adjoin &= plain && before != nullptr && at == before + bytes;
      }
      group.outputs[group.filled++] = at;
    }
    part_first += part.rows;
  }
  std::fill(group.outputs.begin() + static_cast<std::ptrdiff_t>(group.filled), group.outputs.end(),
            group.outputs[0]);
  return group;
}

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
    const kernels::PanelLocation to = {.panel = panel,
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

constexpr auto kPanelOutputs = static_cast<std::int64_t>(kernels::kPanel);

/// Number of inputs per partial sum: such a panel stays in the L2 cache during all rows. Longer
/// sums are sums of partial sums, which also reduces rounding errors.
constexpr std::int64_t kMaxDepth = 1024;
/// Number of rows processed while a panel is in the cache.
constexpr std::int64_t kMaxRows = 512;
/// Number of parts into which a product is split if possible, so that threads finish at about the
/// same time.
constexpr std::int64_t kWantedParts = 32;
constexpr std::int64_t kMaxPanelsPerPart = 8;
/// Number of outputs per BLAS call without kernels.
constexpr std::int64_t kPlainOutputs = 2 * kPanelOutputs;

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// A total split into nearly equal pieces of at most about `most`. All but the last are multiples
/// of `step`.
struct Pieces {
  std::int64_t count, size;
};
Pieces pieces_of(std::int64_t total, std::int64_t most, std::int64_t step) {
  if (total == 0) return {0, 0};
  const std::int64_t wanted = divided_up(divided_up(total, divided_up(total, most)), step) * step;
  return {divided_up(total, wanted), wanted};
}

TensorMatrix in_memory(MatrixView<const float> matrix) {
  const auto elements =
      static_cast<std::size_t>((matrix.rows - 1) * matrix.row_stride + matrix.cols);
  return whole_matrix({.dtype = DType::f32,
                       .shape = {matrix.rows, matrix.cols},
                       .bytes = std::as_bytes(std::span(matrix.data, elements)),
                       .strides = {matrix.row_stride, 1}});
}

template <class T>
kernels::Lines<T> lines_of(MatrixView<T> matrix, std::int64_t row, std::int64_t col) {
  if (matrix.data == nullptr) return {};
  return {&matrix(row, col), static_cast<std::size_t>(matrix.row_stride)};
}

}  // namespace

/// A product and its partition by rows and outputs, which is the same for any number of threads.
struct LinearProduct {
  MatrixView<const float> x;
  const LinearWeights& weights;
  const LinearEpilogue& epilogue;
  MatrixView<float> out;
  const Compute& compute;

  void run() const {
    const bool with_kernels = compute.kernels.available();
    const Pieces row_blocks = pieces_of(out.rows, kMaxRows, 8);
    const std::int64_t panels = divided_up(out.cols, kPanelOutputs);
    const std::int64_t panels_per_part =
        std::clamp<std::int64_t>(panels * row_blocks.count / kWantedParts, 1, kMaxPanelsPerPart);
    const std::int64_t outputs_per_part =
        with_kernels ? panels_per_part * kPanelOutputs : kPlainOutputs;
    const std::int64_t output_parts = divided_up(out.cols, outputs_per_part);
    run_parts(compute, static_cast<std::size_t>(row_blocks.count * output_parts),
              [&](std::size_t part) {
                const auto at = static_cast<std::int64_t>(part);
                const std::int64_t row = at / output_parts * row_blocks.size;
                const std::int64_t rows = std::min(row_blocks.size, out.rows - row);
                const std::int64_t first = at % output_parts * outputs_per_part;
                const std::int64_t last = std::min(first + outputs_per_part, out.cols);
                if (!with_kernels) return multiply_plainly(row, rows, first, last - first);
                for (std::int64_t output = first; output < last; output += kPanelOutputs) {
                  multiply_panel(row, rows, output);
                }
              });
  }

  void multiply_panel(std::int64_t row, std::int64_t rows, std::int64_t output) const {
    thread_local AlignedBuffer<float> sum_memory, decoded_memory;
    const std::int64_t inputs = x.cols;
    const Pieces depths = pieces_of(inputs, kMaxDepth, 16);
    float* sums = nullptr;
    if (depths.count > 1) sums = sum_memory.reserve(static_cast<std::size_t>(rows * kPanelOutputs));
    const float* bias = epilogue.bias.empty() ? nullptr : epilogue.bias.data() + output;
    kernels::PanelProduct product = {
        .rows = static_cast<std::size_t>(rows),
        .columns = static_cast<std::size_t>(std::min(kPanelOutputs, out.cols - output)),
        .sums = sums,
        .bias = bias,
        .activation = epilogue.activation,
        .multiply = lines_of(epilogue.multiply, row, output),
        .add = lines_of(epilogue.add, row, output),
        .out = lines_of(out, row, output)};
    for (std::int64_t block = 0; block < std::max<std::int64_t>(1, depths.count); ++block) {
      const std::int64_t first = block * depths.size;
      const std::int64_t depth = std::min(depths.size, inputs - first);
      product.x = lines_of(x, row, first);
      product.depth = static_cast<std::size_t>(depth);
      product.is_first = block == 0;
      product.is_last = block + 1 >= depths.count;
      if (weights.packed_) {
        product.panel = weights.panels_.data() + output * inputs;
        product.panel_depth = static_cast<std::size_t>(inputs);
        product.first = static_cast<std::size_t>(first);
      } else {
        float* panel = decoded_memory.reserve(static_cast<std::size_t>(depth * kPanelOutputs));
        decode_panel(weights.parts_,
                     {.index = output / kPanelOutputs, .first = first, .count = depth}, 0, depth,
                     compute, panel);
        product.panel = panel;
        product.panel_depth = static_cast<std::size_t>(depth);
      }
      kernels::multiply_panel(compute.kernels, product);
    }
  }

  void multiply_plainly(std::int64_t row, std::int64_t rows, std::int64_t first,
                        std::int64_t count) const {
    Matrix<float> decoded, sums(rows, count);
    MatrixView<const float> w;
    if (weights.packed_) {
      w = weights.plain_.view().row_block(first, count);
    } else {
      decoded = Matrix<float>(count, x.cols);
      decode_stacked(weights.parts_, first, 0, decoded.view());
      w = decoded.view();
    }
    lapack::multiply_transposed(x.row_block(row, rows), w, sums.view());
    if (!epilogue.bias.empty()) {
      for (std::int64_t line = 0; line < rows; ++line) {
        for (std::int64_t col = 0; col < count; ++col) {
          sums(line, col) += epilogue.bias[static_cast<std::size_t>(first + col)];
        }
      }
    }
    activate(epilogue.activation, sums.view(), {.kernels = compute.kernels});
    for (std::int64_t line = 0; line < rows; ++line) {
      for (std::int64_t col = 0; col < count; ++col) {
        float y = sums(line, col);
        if (epilogue.multiply.data != nullptr) y *= epilogue.multiply(row + line, first + col);
        if (epilogue.add.data != nullptr) y += epilogue.add(row + line, first + col);
        out(row + line, first + col) = y;
      }
    }
  }
};

LinearWeights::LinearWeights(std::vector<TensorMatrix> parts, bool packed, const Compute& compute)
    : packed_(packed) {
  for (const TensorMatrix& part : parts) {
    outputs_ += part.rows;
    inputs_ = part.cols;
  }
  if (!packed) {
    parts_ = std::move(parts);
    return;
  }
  if (outputs_ == 0 || inputs_ == 0) return;
  const std::int64_t panels = divided_up(outputs_, kPanelOutputs);
  if (!compute.kernels.available()) {
    plain_ = Matrix<float>(outputs_, inputs_);
    run_parts(compute, static_cast<std::size_t>(panels), [&](std::size_t part) {
      const std::int64_t first = static_cast<std::int64_t>(part) * kPanelOutputs;
      decode_stacked(parts, first, 0,
                     plain_.view().row_block(first, std::min(kPanelOutputs, outputs_ - first)));
    });
    return;
  }
  float* memory = panels_.reserve(static_cast<std::size_t>(panels * kPanelOutputs * inputs_));
  run_parts(compute, static_cast<std::size_t>(panels), [&](std::size_t part) {
    const auto index = static_cast<std::int64_t>(part);
    for (std::int64_t first = 0; first < inputs_; first += kMaxDepth) {
      const std::int64_t count = std::min(kMaxDepth, inputs_ - first);
      decode_panel(parts, {.index = index, .first = first, .count = count}, first, inputs_, compute,
                   memory + index * kPanelOutputs * inputs_);
    }
  });
}

LinearWeights::LinearWeights(MatrixView<const float> matrix, bool packed, const Compute& compute)
    : LinearWeights(std::vector{in_memory(matrix)}, packed, compute) {}

std::int64_t LinearWeights::packed_bytes(std::int64_t outputs, std::int64_t inputs) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  const auto panels =
      static_cast<std::uint64_t>(outputs / kPanelOutputs + (outputs % kPanelOutputs != 0));
  const auto bytes = checked_mul(panels, static_cast<std::uint64_t>(kPanelOutputs) * sizeof(float));
  const auto all = checked_mul(bytes.value_or(kMax), static_cast<std::uint64_t>(inputs));
  return static_cast<std::int64_t>(std::min<std::uint64_t>(all.value_or(kMax), kMax));
}

void apply_linear(MatrixView<const float> x, const LinearWeights& weights,
                  const LinearEpilogue& epilogue, MatrixView<float> out, const Compute& compute) {
  if (out.rows == 0 || out.cols == 0) return;
  LinearProduct{x, weights, epilogue, out, compute}.run();
}

}  // namespace attnscope
