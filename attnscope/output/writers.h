// The formats in which rows are printed. Each makes a sink that writes rows to a stream.
#pragma once

#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/core/error.h"
#include "attnscope/results/sink.h"

namespace attnscope {

struct WriteOptions {
  bool color = false;  // escape sequences and block characters; off: plain text
  int width = 100;     // columns that a table of several models may take
  /// How the front end spells a command's parameters, in what a table says of them.
  SpellParameter spell = [](std::string_view name) { return std::string(name); };
};

/// `out` must outlive the sink. What was written is whole only after RowSink::end().
using MakeWriter = std::unique_ptr<RowSink> (*)(const WriteOptions& options, std::ostream& out);

struct Format {
  std::string_view name;
  MakeWriter make;
};

/// All of them, by name.
std::span<const Format> formats();

std::unique_ptr<RowSink> make_json_writer(const WriteOptions& options, std::ostream& out);
/// Rows wait in a temporary file until all columns are known.
std::unique_ptr<RowSink> make_csv_writer(const WriteOptions& options, std::ostream& out);
/// The command's own table; nothing is printed for a command that has none. Keeps rows in memory,
/// without long arrays, since columns are as wide as their widest cell.
std::unique_ptr<RowSink> make_table_writer(const WriteOptions& options, std::ostream& out);

}  // namespace attnscope
