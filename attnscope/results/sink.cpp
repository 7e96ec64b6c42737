#include "attnscope/results/sink.h"

namespace attnscope {

void send(const Report& report, RowSink& sink) {
  sink.begin(report);
  for (const Record& row : report.rows) sink.add_row(row);
  for (const Skipped& skipped : report.skipped) sink.add_skipped(skipped);
  for (const std::string& note : report.notes) sink.add_note(note);
  sink.end();
}

}  // namespace attnscope
