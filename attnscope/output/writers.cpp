#include "attnscope/output/writers.h"

#include <array>

namespace attnscope {
namespace {

constexpr std::array kFormats = {
    Format{"table", make_table_writer},
    Format{"csv", make_csv_writer},
    Format{"json", make_json_writer},
};

}  // namespace

std::span<const Format> formats() { return kFormats; }

}  // namespace attnscope
