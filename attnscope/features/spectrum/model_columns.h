// Tables with one row per layer and one column per matrix, with several models side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/table/style.h"
#include "attnscope/rows/writers.h"

namespace attnscope {

inline constexpr std::int64_t kWhole = -1;  // in place of a head

/// The rows of one model, ready for layout.
struct ModelTable {
  Record facts;
  std::string name;
  std::string title;
  std::string label;  // label of its columns; empty for a single model
  std::set<std::string> matrices;
  std::map<LayerHead, std::map<std::string, const Record*>> rows;  // null: skipped

  void add(const LayerHead& place, const std::string& matrix, const Record* row) {
    matrices.insert(matrix);
    rows[place][matrix] = row;
  }
};

/// One column of a table. `key` distinguishes several columns of one matrix; empty if there is only
/// one.
struct Column {
  const ModelTable* model = nullptr;
  std::string matrix;
  std::string key;
};
using Columns = std::vector<Column>;

/// Number of spaces after a text, so that it aligns with the numbers of a column.
using SpacesAfter = std::function<std::size_t(const Column&)>;

/// The head lines with the names of matrices and models and, after `key_label`, the keys.
Lines candidate_lines(const Columns& columns, const std::string& key_label,
                      const SpacesAfter& after, const Style& style);

/// Adds a head line with the value that all whole matrices (or heads) of a column share. Omitted if
/// no column has one.
void add_head_line(Lines& lines, const std::string& label, const Columns& columns, bool of_heads,
                   const SpacesAfter& after, const Style& style,
                   const std::function<std::string(const Column&, const Record&)>& text_of);

/// Adds the lines of layers and heads, one cell per column. The row is null if skipped.
void add_place_lines(
    Lines& lines, const Columns& columns, const Style& style,
    const std::function<std::string(const Column&, const LayerHead&, const Record*)>& cell_of);

/// Appends the cell of a column, preceded by an empty cell at the start of a group. `column` is an
/// element of `columns`.
void add_cell(std::vector<std::string>& line, const Columns& columns, const Column& column,
              std::string text);

bool has_heads(const Columns& columns);

/// Whether this is the last key of its matrix. `column` is an element of `columns`.
bool is_last_key(const Columns& columns, const Column& column);

/// One kind of table: the keys of its columns, and its drawing function.
struct TableKind {
  std::vector<std::string> keys;  // {""}: one column per matrix; empty: no such table
  std::function<std::string(const Columns&)> draw;
};

/// Writes every kind of table for every model: side by side, with as many matrices per table as
/// `options.width` allows. If one matrix of all models is wider, each key gets its own tables. If
/// that is still too wide, each model is printed separately. Revisions of one model ("name@step1",
/// "name@step2") always stay side by side, in as many tables as needed.
void write_models(const Report& report, const WriteOptions& options,
                  std::span<const TableKind> kinds, std::ostream& out);

}  // namespace attnscope
