#include "attnscope/results/stack_rows.h"

#include <utility>

namespace attnscope {

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
