// Receives rows as they are produced: no command stores all of its rows at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/rows/record.h"

namespace attnscope {

// The results of one command, from which tables, CSV and JSON are written.

inline constexpr std::string_view kSchema = "attnscope/2";

/// A matrix or head that could not be analyzed; the run continues.
struct Skipped {
  std::string model;
  std::optional<std::int64_t> layer;
  std::string matrix;
  std::optional<std::int64_t> head;  // none: the whole matrix
  std::string reason;
};

/// Information available before the first row.
struct ReportHead {
  std::string command;
  std::vector<Record> models;  // metadata of each model
  Record parameters;           // requested parameters that determine the rows
};

struct Report : ReportHead {
  std::vector<Record> rows;  // sorted as documented for the command
  std::vector<Skipped> skipped;
  /// Notes for readers when nothing is missing, one line each; not part of the data.
  std::vector<std::string> notes;
};

/// Receives the results of a command: begin(), then rows in their final order, mixed with notes and
/// skipped entries, then end(). Always called from one thread. An exception ends the run.
class RowSink {
 public:
  virtual ~RowSink() = default;

  virtual void begin(const ReportHead& head) = 0;
  virtual void add_row(Record row) = 0;
  virtual void add_skipped(Skipped skipped) = 0;
  virtual void add_note(std::string note) = 0;
  /// Called after the last result. Not called if the run fails.
  virtual void end() = 0;
};

/// Keeps everything in memory, for reports with few rows and for tests.
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

/// Sends a whole report to a sink.
void send(const Report& report, RowSink& sink);

// Adds the stack to rows of models with several stacks.

/// Forwards everything, and inserts `stack` after `model` in rows of models whose metadata has one.
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
  std::map<std::string, std::string, std::less<>> stack_of_;  // by model name
};

}  // namespace attnscope
