#include "attnscope/output/writers.h"

#include <array>

namespace attnscope {
namespace {

struct TableOf {
  std::string_view command;
  WriteReport write;
};

constexpr std::array kTables = {
    TableOf{"circuits", write_circuits_table}, TableOf{"info", write_info_table},
    TableOf{"matrix", write_matrix_table},     TableOf{"similarity", write_similarity_table},
    TableOf{"spectrum", write_spectrum_table}, TableOf{"weights", write_weights_table},
};

constexpr std::array kFormats = {
    Format{"table", write_table},
    Format{"csv", write_csv},
    Format{"json", write_json},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

void write_table(const Report& report, const WriteOptions& options, std::ostream& out) {
  for (const TableOf& table : kTables) {
    if (table.command == report.command) return table.write(report, options, out);
  }
}

}  // namespace attnscope
