// Tables of reports: the specific ones and the plain one.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string_view>

#include "attnscope/rows/sink.h"
#include "attnscope/rows/writers.h"

namespace attnscope {

using WriteTable = void (*)(const Report&, const WriteOptions&, std::ostream&);
using MakeTable = std::unique_ptr<RowSink> (*)(const WriteOptions&, std::ostream&);

/// The table of a command; if `parameter` is not empty, only for the rows that it requests.
struct TableOf {
  std::string_view command;
  std::string_view parameter;
  MakeTable make;
};

/// Every table; the first that matches a report prints it. The list is in features/all_tables.cpp.
std::span<const TableOf> tables();

/// Collects all rows without arrays, which tables do not show, and writes them at the end.
std::unique_ptr<RowSink> collected_table(WriteTable write, const WriteOptions& options,
                                         std::ostream& out);

/// For commands without a specific table: one line per row, single values only.
void write_plain_table(const Report& report, const WriteOptions& options, std::ostream& out);

}  // namespace attnscope
