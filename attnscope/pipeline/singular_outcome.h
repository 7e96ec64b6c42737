// Singular values of one matrix as an outcome: their fields, or why there are none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attnscope/core/error.h"
#include "attnscope/numerics/singular_values.h"
#include "attnscope/pipeline/layer_work.h"

namespace attnscope {

/// `compute` gives the SingularValues, `fields_of` the fields of the row from their values. An
/// error that is one matrix's alone does not end the run; a solver of last resort is noted.
template <class Compute, class FieldsOf>
Outcome singular_outcome(std::optional<std::int64_t> head, Compute compute, FieldsOf fields_of) {
  try {
    const SingularValues singular = compute();
    Outcome outcome{.head = head, .fields = fields_of(singular.values)};
    if (!singular.fallback.empty()) {
      outcome.note = "the usual solver did not converge; " + std::string(singular.fallback) +
                     " gave the values";
    }
    return outcome;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numerical) throw;
    return {.head = head, .skipped = error.what()};
  }
}

}  // namespace attnscope
