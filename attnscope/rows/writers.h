// The output formats of rows. Each creates a sink that writes rows to a stream.
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
  bool true_color = false;  // 24-bit colors; otherwise the 256 standard colors
  int width = 100;          // maximum width of a table of several models, in columns
  /// Spells a command's parameters for this front end, in the texts of tables.
  SpellParameter spell = [](std::string_view name) { return std::string(name); };
  /// Whether the generated text was already shown above the table, while it was generated.
  std::function<bool()> text_is_shown = [] { return false; };
  /// Whether CSV texts that a spreadsheet would interpret as formulas start with an apostrophe.
  bool escape_formulas = false;
};

/// `out` must outlive the sink. The output is complete only after RowSink::end().
using MakeWriter = std::unique_ptr<RowSink> (*)(const WriteOptions& options, std::ostream& out);

struct Format {
  std::string_view name;
  std::string_view ending;  // file extension: ".csv"; empty: none
  MakeWriter make;
};

/// All formats, by name.
std::span<const Format> formats();

}  // namespace attnscope
