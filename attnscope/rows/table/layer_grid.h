// A table with a line for each layer and head and a column for each matrix or measure; several
// models stand side by side where the terminal is wide enough, else one under the other.
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

  /// `column`: its name; columns stand in the order in which they are first named.
  void set(const std::string& model, std::int64_t layer, std::int64_t head,
           const std::string& column, std::string text);
  /// A dash for everything that was skipped, in the columns named `matrix` + each of `suffixes`.
  void set_skipped(const Report& report, const std::vector<std::string>& suffixes);

  /// The models of the report that have cells.
  void write(const Report& report, const WriteOptions& options, std::ostream& out) const;

 private:
  using Cells = std::map<LayerHead, std::map<std::string, std::string>>;
  struct Column {
    const std::string* model;
    const std::string* name;
  };

  /// In several blocks where they are wider than `width`.
  std::string lines_of(const std::vector<Column>& columns, bool name_models, const Style& style,
                       std::size_t width) const;

  std::vector<std::string> columns_;
  std::map<std::string, Cells> models_;
};

/// The counts of a histogram field as a line of small bars; nothing where colour is off.
std::string sparkline(const Record& row, const Style& style);

/// A number field with a format such as "{:.3g}"; "-" where it is null or absent.
std::string number_text(const Record& row, std::string_view name, const char* format);

/// "-1.2e-05 ±0.0203", or "-" where the mean is null.
std::string mean_and_std(const Record& row, const char* mean_format, const char* std_format);

// A line for each layer with a cell for its attention, its MLP and each of its heads: of rows with
// `layer`, `head` and `component`.

using PartCell = std::function<std::string(const Record&)>;

/// In several blocks where they are wider than `width`.
std::string part_grid(const std::vector<const Record*>& rows, const PartCell& cell,
                      const Style& style, int width);

/// "L3H2", "mlp 3".
std::string part_title(const Record& row);

}  // namespace attnscope
