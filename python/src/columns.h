// A report's rows as columns in the memory layout of Apache Arrow.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/rows/field.h"
#include "attnscope/rows/sink.h"

namespace attnscope::python {

enum class ColumnType { null, boolean, int64, float32, float64, text, list, record };

/// `length` values of one type. Only the buffers that the type uses are filled.
struct Column {
  ColumnType type = ColumnType::null;
  std::int64_t length = 0;
  std::int64_t nulls = 0;
  std::vector<std::uint8_t> valid;  // one bit per value, lowest first; empty: all valid
  std::vector<std::uint8_t> bits;   // boolean values, in the same order
  std::vector<std::int64_t> integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t>
      offsets;        // (length + 1,): into `bytes` for texts, into the child for lists
  std::string bytes;  // UTF-8
  std::vector<std::pair<std::string, Column>> children;  // lists: one; records: fields
};

/// Returns the kind of the report's rows; null if no command has such rows.
const RowKind* kind_of(const Report& report);

/// Whether rows of this kind may be of heads and of whole matrices or layers.
bool mixes_scopes(const RowKind& kind);

/// Returns every field of the rows, in the order of the CSV columns. A record becomes several
/// columns (energy_rank_0.9), and so does a shape (shape_0). Other arrays and lists become lists.
/// A column has its declared type, also if all its values are null or if all numbers are integers.
/// Values of mixed types, which no field has, become JSON texts. If rows can be of heads and of
/// matrices or layers, the column `scope` after `head` states which: head, matrix or layer.
std::vector<std::pair<std::string, Column>> columns_of(const Report& report);

}  // namespace attnscope::python
