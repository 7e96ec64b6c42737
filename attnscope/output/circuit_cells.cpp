#include "attnscope/output/circuit_cells.h"

#include <fmt/format.h>

#include "attnscope/output/terminal.h"

namespace attnscope {
namespace {

bool flag_of(const Record& record, std::string_view name) {
  const Value* value = record.find(name);
  const bool* flag = value == nullptr ? nullptr : value->get<bool>();
  return flag != nullptr && *flag;
}

}  // namespace

std::string variant_text(const Record& parameters) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const bool centred = text_field(parameters, "fold_norm") == "centred";
  if (centred || flag_of(parameters, "fold_norm")) add("gains of norms folded in");
  if (centred) add("centred");
  if (flag_of(parameters, "with_bias")) add("with biases");
  if (const std::int64_t offset = integer_field(parameters, "rope_offset"); offset != 0) {
    add(fmt::format("qk at rotary offset {}", offset));
  }
  return text.empty() ? "weights as stored: no norms, biases or positions" : text;
}

}  // namespace attnscope
