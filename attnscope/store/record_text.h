// Records as JSON text that loses nothing, so that a row read back prints the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/results/record.h"

namespace attnscope {

/// JSON in which every float64 has a point or an exponent and every int64 has neither. An array of
/// float64 and null is a vector of numbers (null: not finite); a Value::List that would look like
/// one is written as {"$list": [...]}. Broken UTF-8 is replaced, as it is where JSON is printed.
std::string record_text(const Record& record);

/// The record that record_text() wrote. The text may be hostile: throws Error(format) with `where`,
/// the store's path, as its file.
Record parse_record(std::string_view text, std::string_view where);

}  // namespace attnscope
