// Singular values of a stored matrix. If they come from a Gram matrix, the matrix is read block by
// block and never fully in memory.
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
/// Uses a 2-D tensor as stored in the file.
Read<SingularResult> read_singular_values(const Checkpoint& checkpoint,
                                          const CheckpointTensor& tensor, const Compute& compute);
/// Requires a matrix in memory with a real dtype (`DtypeClass::real`).
Read<SingularResult> read_singular_values(const TensorView& matrix, const Compute& compute);

/// Maximum memory that either of the above uses.
std::uint64_t weight_spectrum_bytes(const TensorMatrix& matrix);

// The spectrum of a matrix that a program has in memory.

/// Reports an array like one tensor of a file, under the name "array". `matrix` has two non-empty
/// axes and a real dtype; it is read in place. Throws as run_tensor_spectrum() does.
void run_array_spectrum(const TensorView& matrix, const Record& options, const Context& context,
                        RowSink& sink);

// The outcome of one matrix from its singular values: fields, or the reason why there are none.

/// `fields_of` converts the values to fields. If a fallback solver computed the values, a note
/// reports that.
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
