// The formats in which rows are printed. Each makes a sink that writes rows to a stream.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

struct WriteOptions {
  bool color = false;       // escape sequences and block characters; off: plain text
  bool true_color = false;  // colours may be any of 24 bits; else of the 256 that are usual
  int width = 100;          // columns that a table of several models may take
  /// How the front end spells a command's parameters, in what a table says of them.
  SpellParameter spell = [](std::string_view name) { return std::string(name); };
  /// Whether what the model wrote is to be seen above the table: it has been shown as it came.
  std::function<bool()> text_is_shown = [] { return false; };
  /// Whether an apostrophe precedes texts in CSV that a spreadsheet would take for formulas.
  bool escape_formulas = false;
};

/// `out` must outlive the sink. What was written is whole only after RowSink::end().
using MakeWriter = std::unique_ptr<RowSink> (*)(const WriteOptions& options, std::ostream& out);

struct Format {
  std::string_view name;
  std::string_view ending;  // of files that hold it: ".csv"; empty: none says so
  MakeWriter make;
};

/// All of them, by name.
std::span<const Format> formats();

}  // namespace attnscope
