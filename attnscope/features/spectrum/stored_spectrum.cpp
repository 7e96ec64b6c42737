#include "attnscope/features/spectrum/stored_spectrum.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

#include "attnscope/engine/analysis.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/numerics/svd/matrix_blocks.h"
#include "attnscope/numerics/svd/resolved_singular_values.h"

namespace attnscope {
namespace {

/// Uses the resolution of the element type.
SingularValues values_of(const MatrixBlocks<float>& blocks, double largest,
                         const Compute& compute) {
  return singular_values(blocks, largest, compute);
}
SingularValues values_of(const MatrixBlocks<double>& blocks, double largest,
                         const Compute& compute) {
  return resolved_singular_values(blocks, largest, compute);
}
SingularValues values_of(MatrixView<const float> matrix, const Compute& compute) {
  return singular_values(matrix, compute);
}
SingularValues values_of(MatrixView<const double> matrix, const Compute& compute) {
  return resolved_singular_values(matrix, compute);
}

template <class T>
Read<SingularResult> values_of_blocks(const TensorMatrix& matrix, const Compute& compute) {
  const MatrixBlocks<T> blocks = decoded_blocks<T>(matrix);
  const BlockExtent extent = extent_of(blocks, compute);
  if (extent.not_finite) {
    return {{}, not_finite_text(extent.not_finite->row, extent.not_finite->col)};
  }
  return {singular_result([&] { return values_of(blocks, extent.largest_magnitude, compute); }),
          ""};
}

Read<SingularResult> values_of(const TensorMatrix& matrix, const Compute& compute) {
  return matrix.tensor.dtype == DType::f64 ? values_of_blocks<double>(matrix, compute)
                                           : values_of_blocks<float>(matrix, compute);
}

/// The elements in place; none if they have another type, are misaligned, or are strided along both
/// axes.
template <class T>
std::optional<MatrixView<const T>> elements_of(const TensorView& tensor, DType dtype) {
  const std::byte* data = tensor.bytes.data();
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0;
  const bool has_lines = tensor.stride(0) == 1 || tensor.stride(1) == 1;
  if (tensor.source != nullptr || tensor.dtype != dtype || !is_aligned || !has_lines ||
      std::endian::native != std::endian::little) {
    return std::nullopt;
  }
  return MatrixView<const T>{reinterpret_cast<const T*>(data), tensor.shape[0], tensor.shape[1],
                             tensor.stride(0), tensor.stride(1)};
}

template <class T>
Read<SingularResult> values_of_elements(MatrixView<const T> matrix, const Compute& compute) {
  if (auto problem = find_not_finite(matrix)) return {{}, *std::move(problem)};
  return {singular_result([&] { return values_of(matrix, compute); }), ""};
}

Read<SingularResult> read_singular_values(const Checkpoint& checkpoint,
                                          const CheckpointTensor& tensor,
                                          const TensorMatrix& matrix, const Compute& compute) {
  if (const auto reason = why_not_analyzed(checkpoint, tensor)) return {{}, *reason};
  checkpoint.need(byte_ranges(matrix));
  Read<SingularResult> out = values_of(matrix, compute);
  checkpoint.check_intact(tensor);
  return out;
}

}  // namespace

Read<SingularResult> read_singular_values(const Model& model, const Weight& weight,
                                          const Compute& compute) {
  if (weight.tensor == nullptr) return {{}, weight.missing};
  return read_singular_values(model.checkpoint(), *weight.tensor, weight.matrix, compute);
}

Read<SingularResult> read_singular_values(const Checkpoint& checkpoint,
                                          const CheckpointTensor& tensor, const Compute& compute) {
  return read_singular_values(checkpoint, tensor, whole_matrix(tensor.view), compute);
}

Read<SingularResult> read_singular_values(const TensorView& matrix, const Compute& compute) {
  if (const auto elements = elements_of<float>(matrix, DType::f32)) {
    return values_of_elements(*elements, compute);
  }
  if (const auto elements = elements_of<double>(matrix, DType::f64)) {
    return values_of_elements(*elements, compute);
  }
  return values_of(whole_matrix(matrix), compute);
}

std::uint64_t weight_spectrum_bytes(const TensorMatrix& matrix) {
  const std::uint64_t held = matrix.tensor.dtype == DType::f64
                                 ? resolved_singular_values_bytes(matrix.rows, matrix.cols)
                                 : singular_values_bytes<float>(matrix.rows, matrix.cols);
  return held + kPackedBytes;
}

namespace {

/// Name used for the model and the tensor, because an array has no name.
constexpr const char* kName = "array";

Outcome spectrum_of(const TensorView& matrix, const SpectrumFields& wanted,
                    const Compute& compute) {
  const auto read = read_singular_values(matrix, compute);
  if (!read.skipped.empty()) return {.skipped = read.skipped};
  return singular_outcome(std::nullopt, read.values, [&](const SingularValues& values) {
    Record fields;
    add_spectrum_fields(fields, values, {.rows = matrix.shape[0], .cols = matrix.shape[1]}, wanted);
    return fields;
  });
}

}  // namespace

void run_array_spectrum(const TensorView& matrix, const Record& options, const Context& context,
                        RowSink& sink) {
  refuse_ranks_by_width(options, "an array");
  const SpectrumFields wanted = spectrum_fields(options, /*width=*/0);
  const std::int64_t bytes = matrix.element_count() * dtype_info(matrix.dtype).bits / 8;
  ReportHead head{.command = "spectrum",
                  .models = {{{"name", kName}, {"bytes", bytes}}},
                  .parameters = options};
  head.parameters.add("tensor", kName);
  sink.begin(head);
  LentTeam team(context);
  const std::vector<Outcome> outcomes = {spectrum_of(matrix, wanted, team.compute())};
  rows_with_heads(sink).add({kName, std::nullopt, kName}, outcomes);
  sink.end();
}

}  // namespace attnscope
