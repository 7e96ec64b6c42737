#include "attnscope/rows/writers.h"

#include <array>

namespace attnscope {

// Each writer is defined in its own file.
std::unique_ptr<RowSink> make_json_writer(const WriteOptions& options, std::ostream& out);
/// Buffers rows in a temporary file until all columns are known.
std::unique_ptr<RowSink> make_csv_writer(const WriteOptions& options, std::ostream& out);
/// Writes the command's table; nothing if it has none. Keeps rows without long arrays in memory,
/// because columns are as wide as their widest cell.
std::unique_ptr<RowSink> make_table_writer(const WriteOptions& options, std::ostream& out);

namespace {

constexpr std::array kFormats = {
    Format{"table", "", make_table_writer},
    Format{"csv", ".csv", make_csv_writer},
    Format{"json", ".json", make_json_writer},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

}  // namespace attnscope
