// The outcome of one matrix from its singular values: fields, or why there are none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "attnscope/core/error.h"
#include "attnscope/numerics/singular_values/singular_values.h"
#include "attnscope/results/outcome.h"

namespace attnscope {

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
