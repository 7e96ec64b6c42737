// A table with one line per layer and head, and one column per matrix or measure. Several models
// are shown side by side if the terminal is wide enough, else one below the other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/rows/sink.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/style.h"
#include "attnscope/rows/writers.h"

namespace attnscope {

class LayerGrid {
 public:
  static constexpr std::int64_t kWhole = -1;  // in place of a head

  /// `column`: its name; columns appear in the order in which they are first named.
  void set(const std::string& model, std::int64_t layer, std::int64_t head,
           const std::string& column, std::string text);
  /// Sets a dash for every skipped entry, in the columns named `matrix` + each of `suffixes`.
  void set_skipped(const Report& report, const std::vector<std::string>& suffixes);

  /// Writes the models of the report that have cells.
  void write(const Report& report, const WriteOptions& options, std::ostream& out) const;

 private:
  using Cells = std::map<LayerHead, std::map<std::string, std::string>>;
  struct Column {
    const std::string* model;
    const std::string* name;
  };

  /// Splits the lines into several blocks if they are wider than `width`.
  std::string lines_of(const std::vector<Column>& columns, bool name_models, const Style& style,
                       std::size_t width) const;

  std::vector<std::string> columns_;
  std::map<std::string, Cells> models_;
};

/// The counts of a histogram field as a line of small bars; empty if color is off.
std::string sparkline(const Record& row, const Style& style);

/// A number field in a format such as "{:.3g}"; "-" if it is null or absent.
std::string number_text(const Record& row, std::string_view name, const char* format);

/// "-1.2e-05 ±0.0203", or "-" if the mean is null.
std::string mean_and_std(const Record& row, const char* mean_format, const char* std_format);

// One line per layer with a cell for its attention, its mixer (if any layer has a mixer), its MLP
// and each head, from rows with `layer`, `head` and `component`.

using PartCell = std::function<std::string(const Record&)>;

/// Splits the lines into several blocks if they are wider than `width`.
std::string part_grid(const std::vector<const Record*>& rows, const PartCell& cell,
                      const Style& style, int width);

/// "L3H2", "mlp 3".
std::string part_title(const Record& row);

}  // namespace attnscope
