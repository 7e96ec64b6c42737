// Where rows go as they are made: no command holds all of its rows at once.
#pragma once

#include <string>
#include <utility>

#include "attnscope/results/report.h"

namespace attnscope {

/// Takes what a command finds, in its final order, from one thread. What a sink throws ends the
/// run.
class RowSink {
 public:
  virtual ~RowSink() = default;

  /// Comes first, once.
  virtual void begin(const ReportHead& head) = 0;
  virtual void add_row(Record row) = 0;
  virtual void add_skipped(Skipped skipped) = 0;
  virtual void add_note(std::string note) = 0;
  /// All is there.
  virtual void end() = 0;
};

/// Keeps everything: for few rows, and for tests.
class ReportCollector : public RowSink {
 public:
  void begin(const ReportHead& head) override { static_cast<ReportHead&>(report_) = head; }
  void add_row(Record row) override { report_.rows.push_back(std::move(row)); }
  void add_skipped(Skipped skipped) override { report_.skipped.push_back(std::move(skipped)); }
  void add_note(std::string note) override { report_.notes.push_back(std::move(note)); }
  void end() override {}

  const Report& report() const { return report_; }
  Report take() { return std::move(report_); }

 private:
  Report report_;
};

/// Gives a whole report to a sink.
void send(const Report& report, RowSink& sink);

}  // namespace attnscope
