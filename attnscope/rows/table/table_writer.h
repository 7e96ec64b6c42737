// The table of a report: which one prints it, and the plain one.
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

/// The table of a command; if `parameter` is not empty, only of the rows that it asks for.
struct TableOf {
  std::string_view command;
  std::string_view parameter;
  MakeTable make;
};

/// Every table; the first that fits a report prints it. The list is in features/all_tables.cpp.
std::span<const TableOf> tables();

/// Collects all rows, without the arrays that no table shows, and writes them at the end.
std::unique_ptr<RowSink> collected_table(WriteTable write, const WriteOptions& options,
                                         std::ostream& out);

/// Of commands that have no table of their own: a line for each row, single values only.
void write_plain_table(const Report& report, const WriteOptions& options, std::ostream& out);

}  // namespace attnscope
