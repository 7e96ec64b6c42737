// The forms in which a report is printed: one function each, listed here.
#pragma once

#include <ostream>
#include <span>
#include <string_view>

#include "attnscope/results/report.h"

namespace attnscope {

struct WriteOptions {
  bool color = false;  // escape sequences and block characters; off: plain text
  int width = 100;     // columns that a table of several models may take
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

void write_circuits_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_info_table(const Report& report, const WriteOptions& options, std::ostream& out);
/// What `spectrum --mla` found; write_spectrum_table calls it.
void write_mla_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_matrix_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_similarity_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_spectrum_table(const Report& report, const WriteOptions& options, std::ostream& out);
void write_weights_table(const Report& report, const WriteOptions& options, std::ostream& out);

}  // namespace attnscope
