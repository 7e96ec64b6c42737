#include "attnscope/rows/writers.h"

#include <array>

namespace attnscope {

// Each in a file of its own.
std::unique_ptr<RowSink> make_json_writer(const WriteOptions& options, std::ostream& out);
/// Rows wait in a temporary file until all columns are known.
std::unique_ptr<RowSink> make_csv_writer(const WriteOptions& options, std::ostream& out);
/// The command's own table; nothing is printed for a command that has none. Keeps rows in memory,
/// without long arrays, since columns are as wide as their widest cell.
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
