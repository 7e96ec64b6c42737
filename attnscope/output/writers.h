// The forms in which a report is printed: one function each, listed here.
#pragma once

#include <ostream>
#include <span>
#include <string_view>

#include "attnscope/results/report.h"

namespace attnscope {

struct WriteOptions {
  bool color = false;  // escape sequences and block characters; off: plain text
};

using WriteReport = void (*)(const Report&, const WriteOptions&, std::ostream&);

struct Format {
  std::string_view name;
  WriteReport write;
};

/// table, csv, json.
std::span<const Format> formats();

void write_json(const Report& report, const WriteOptions& options, std::ostream& out);
void write_csv(const Report& report, const WriteOptions& options, std::ostream& out);
/// The table of the report's command.
void write_table(const Report& report, const WriteOptions& options, std::ostream& out);

void write_info_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_matrix_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_spectrum_table(const Report& report, const WriteOptions& options, std::ostream& out);

}  // namespace attnscope
