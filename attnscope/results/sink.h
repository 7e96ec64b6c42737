// Where rows go as they are made: no command holds all of its rows at once.
#pragma once

#include <string>
#include <utility>

#include "attnscope/results/report.h"

namespace attnscope {

/// Takes what a command finds: begin(), then rows in their final order, with notes and what was
/// skipped among them, then end(). Always called from one thread. What it throws ends the run.
class RowSink {
 public:
  virtual ~RowSink() = default;

  virtual void begin(const ReportHead& head) = 0;
  virtual void add_row(Record row) = 0;
  virtual void add_skipped(Skipped skipped) = 0;
  virtual void add_note(std::string note) = 0;
  /// Nothing more comes, and what came is whole. Not called where the run fails.
  virtual void end() = 0;
};

/// Keeps everything in memory: for reports with few rows, and for tests.
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
