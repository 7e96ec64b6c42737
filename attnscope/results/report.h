// What one command found: what table, CSV and JSON are all made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/results/record.h"

namespace attnscope {

inline constexpr std::string_view kSchema = "attnscope/1";

/// A matrix or head that could not be analysed; the run goes on.
struct Skipped {
  std::string model;
  std::optional<std::int64_t> layer;
  std::string matrix;
  std::optional<std::int64_t> head;  // none: the whole matrix
  std::string reason;
};

/// What is known before the first row.
struct ReportHead {
  std::string command;
  std::vector<Record> models;  // facts of each model
  Record parameters;           // what was asked, as far as it decides the rows
};

struct Report : ReportHead {
  std::vector<Record> rows;  // sorted as documented for the command
  std::vector<Skipped> skipped;
  /// What a reader should know though nothing is missing, a line each; not part of the data.
  std::vector<std::string> notes;
};

}  // namespace attnscope
