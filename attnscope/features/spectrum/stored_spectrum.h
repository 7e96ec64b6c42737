// Singular values of a matrix of a file. Where they come from a Gram matrix, it is read block by
// block and never whole in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "attnscope/base/error.h"
#include "attnscope/engine/context.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/spectrum/run.h"
#include "attnscope/numerics/svd/singular_values.h"
#include "attnscope/rows/sink.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

/// Throws what read_weight() throws.
Read<SingularResult> read_singular_values(const Model& model, const Weight& weight,
                                          const Compute& compute);
/// Of a 2-D tensor as the file has it.
Read<SingularResult> read_singular_values(const Checkpoint& checkpoint,
                                          const CheckpointTensor& tensor, const Compute& compute);
/// Of a matrix in memory, whose dtype is of class `real`.
Read<SingularResult> read_singular_values(const TensorView& matrix, const Compute& compute);

/// The most memory that either of the above takes.
std::uint64_t weight_spectrum_bytes(const TensorMatrix& matrix);

// The spectrum of a matrix that a program has in memory.

/// What `spectrum` says of one tensor of a file, under the name "array". `matrix` has two axes,
/// neither empty, and a dtype of class `real`; it is read where it lies. Throws as
/// run_tensor_spectrum() does.
void run_array_spectrum(const TensorView& matrix, const Record& options, const Context& context,
                        RowSink& sink);

// The outcome of one matrix from its singular values: fields, or why there are none.

/// `fields_of` makes the row's fields of the values. Where another solver than the usual one gave
/// the values, a note says so.
template <class FieldsOf>
Outcome singular_outcome(std::optional<std::int64_t> head, const SingularResult& result,
                         FieldsOf fields_of) {
  if (const Error* error = std::get_if<Error>(&result)) {
    return {.head = head, .skipped = error->what()};
  }
  const SingularValues& singular = std::get<SingularValues>(result);
  Outcome outcome{.head = head, .fields = fields_of(singular)};
  if (!singular.fallback.empty()) {
    outcome.note =
        "the usual solver did not converge; " + std::string(singular.fallback) + " gave the values";
  }
  return outcome;
}

}  // namespace attnscope
