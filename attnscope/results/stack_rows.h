// Rows of models of several stacks say which stack they are of.
#pragma once

#include <map>
#include <string>

#include "attnscope/results/sink.h"

namespace attnscope {

/// Passes everything on, and puts `stack` beside `model` in rows of models whose facts have one.
class StackRows : public RowSink {
 public:
  explicit StackRows(RowSink& sink) : sink_(sink) {}

  void begin(const ReportHead& head) override;
  void add_row(Record row) override;
  void add_skipped(Skipped skipped) override { sink_.add_skipped(std::move(skipped)); }
  void add_note(std::string note) override { sink_.add_note(std::move(note)); }
  void end() override { sink_.end(); }

 private:
  RowSink& sink_;
  std::map<std::string, std::string, std::less<>> stack_of_;  // by a model's name
};

}  // namespace attnscope
