#include "attnscope/pipeline/array_spectrum.h"

#include <optional>
#include <utility>

#include "attnscope/analysis/spectrum.h"
#include "attnscope/core/error.h"
#include "attnscope/pipeline/lent_team.h"
#include "attnscope/pipeline/singular_outcome.h"
#include "attnscope/pipeline/weight_spectrum.h"

namespace attnscope {
namespace {

SpectrumFields fields_wanted(const SpectrumRequest& request) {
  SpectrumFields wanted{.thresholds = request.thresholds, .with_values = request.with_values};
  for (const Rank& rank : request.ranks) {
    if (rank.of_width) {
      throw Error(ErrorKind::usage, {.parameter = "rank",
                                     .problem = "'" + rank.text() +
                                                "' is a share of a model's width, which an array "
                                                "has not; name a number"});
    }
    wanted.ranks.push_back({rank.text(), rank.resolve(/*width=*/0)});
  }
  return wanted;
}

}  // namespace

void run_array_spectrum(const TensorView& matrix, const SpectrumRequest& request,
                        const Context& context, RowSink& sink) {
  const SpectrumFields wanted = fields_wanted(request);
  sink.begin({.command = "spectrum",
              .parameters = {{"energy", request.thresholds}, {"values", request.with_values}}});
  LentTeam team(context);
  const auto read = read_singular_values(matrix, team.compute());
  Outcome outcome{.skipped = read.skipped};
  if (read.skipped.empty()) {
    outcome = singular_outcome(std::nullopt, read.matrix, [&](const std::vector<double>& values) {
      Record fields;
      add_spectrum_fields(fields, values, {.rows = matrix.shape[0], .cols = matrix.shape[1]},
                          wanted);
      return fields;
    });
  }
  if (!outcome.note.empty()) sink.add_note(std::move(outcome.note));
  if (outcome.skipped.empty()) {
    sink.add_row(std::move(outcome.fields));
  } else {
    sink.add_skipped({.reason = std::move(outcome.skipped)});
  }
  sink.end();
}

}  // namespace attnscope
