#include "attnscope/analyses/array_spectrum.h"

#include <optional>
#include <utility>

#include "attnscope/analyses/singular_outcome.h"
#include "attnscope/analyses/weight_spectrum.h"
#include "attnscope/run/lent_team.h"
#include "attnscope/run/rows.h"

namespace attnscope {
namespace {

/// In place of a model and of a tensor: an array has no name of its own.
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
