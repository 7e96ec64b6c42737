#include "attnscope/rows/sink.h"

#include <utility>

namespace attnscope {

void send(const Report& report, RowSink& sink) {
  sink.begin(report);
  for (const Record& row : report.rows) sink.add_row(row);
  for (const Skipped& skipped : report.skipped) sink.add_skipped(skipped);
  for (const std::string& note : report.notes) sink.add_note(note);
  sink.end();
}

void StackRows::begin(const ReportHead& head) {
  for (const Record& model : head.models) {
    const Value* stack = model.find("stack");
    if (stack == nullptr) continue;
    stack_of_[expect<std::string>(model, "name")] = expect<std::string>(*stack, "stack");
  }
  sink_.begin(head);
}

void StackRows::add_row(Record row) {
  const Value* model = stack_of_.empty() ? nullptr : row.find("model");
  const auto found =
      model == nullptr ? stack_of_.end() : stack_of_.find(expect<std::string>(*model, "model"));
  if (found == stack_of_.end()) {
    sink_.add_row(std::move(row));
    return;
  }
  Record with_stack;
  for (const auto& [name, value] : row.fields()) {
    with_stack.add(name, value);
    if (name == "model") with_stack.add("stack", found->second);
  }
  sink_.add_row(std::move(with_stack));
}

}  // namespace attnscope
