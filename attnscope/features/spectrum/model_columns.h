// Tables with a row per layer and a column per matrix, of several models side by side.
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

/// One model's rows, ready to be laid out.
struct ModelTable {
  Record facts;
  std::string name;
  std::string title;
  std::string label;  // over its columns; empty where it is the only model
  std::set<std::string> matrices;
  std::map<LayerHead, std::map<std::string, const Record*>> rows;  // null: skipped

  void add(const LayerHead& place, const std::string& matrix, const Record* row) {
    matrices.insert(matrix);
    rows[place][matrix] = row;
  }
};

/// One column of a table; `key` tells apart several columns of one matrix, and is empty where there
/// is one.
struct Column {
  const ModelTable* model = nullptr;
  std::string matrix;
  std::string key;
};
using Columns = std::vector<Column>;

/// As many spaces as follow a text, so that it stands over the numbers of a column.
using SpacesAfter = std::function<std::size_t(const Column&)>;

/// The lines that name matrices, models and, under `key_label`, keys.
Lines candidate_lines(const Columns& columns, const std::string& key_label,
                      const SpacesAfter& after, const Style& style);

/// A line of the head with what all of a column's whole matrices (or all its heads) have in common;
/// left out where no column has anything.
void add_head_line(Lines& lines, const std::string& label, const Columns& columns, bool of_heads,
                   const SpacesAfter& after, const Style& style,
                   const std::function<std::string(const Column&, const Record&)>& text_of);

/// The lines of layers and heads, a cell for each column; its row is null where it was skipped.
void add_place_lines(
    Lines& lines, const Columns& columns, const Style& style,
    const std::function<std::string(const Column&, const LayerHead&, const Record*)>& cell_of);

/// Appends the cell of a column, and an empty one before it where a group of several begins.
/// `column` is an element of `columns`.
void add_cell(std::vector<std::string>& line, const Columns& columns, const Column& column,
              std::string text);

bool has_heads(const Columns& columns);

/// Whether no other key of the same matrix follows. `column` is an element of `columns`.
bool is_last_key(const Columns& columns, const Column& column);

/// One kind of table: the keys of its columns, and how it is drawn.
struct TableKind {
  std::vector<std::string> keys;  // {""}: one column for each matrix; none: no such table
  std::function<std::string(const Columns&)> draw;
};

/// Every kind of table of every model: side by side, with as many matrices in a table as
/// `options.width` allows. Where one matrix of all models is wider, each key has tables of its own;
/// where that does not help, each model stands under its own name. Revisions of one model
/// ("name@step1", "name@step2") always stand side by side, in as many tables as that takes.
void write_models(const Report& report, const WriteOptions& options,
                  std::span<const TableKind> kinds, std::ostream& out);

}  // namespace attnscope
