// A report's rows as columns, in buffers as Apache Arrow lays them out.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/rows/sink.h"

namespace attnscope::python {

enum class ColumnType { null, boolean, int64, float32, float64, text, list, record };

/// Values of one type, `length` of them. Of the buffers those are filled that the type has.
struct Column {
  ColumnType type = ColumnType::null;
  std::int64_t length = 0;
  std::int64_t nulls = 0;
  std::vector<std::uint8_t> valid;  // a bit for each value, the lowest first; empty: all are valid
  std::vector<std::uint8_t> bits;   // of booleans, likewise
  std::vector<std::int64_t> integers;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<std::int64_t>
      offsets;        // (length + 1,) of texts into `bytes`, of lists into the child
  std::string bytes;  // UTF-8
  std::vector<std::pair<std::string, Column>> children;  // one of a list, the fields of a record
};

/// Every field of the rows, in the order of CSV's columns. A record within a row is several of them
/// (energy_rank_0.9); arrays and lists are lists. Values of several types, which no field has, are
/// texts of JSON.
std::vector<std::pair<std::string, Column>> columns_of(const Report& report);

}  // namespace attnscope::python
