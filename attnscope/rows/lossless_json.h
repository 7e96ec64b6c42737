// Records as lossless JSON text: a row read back prints the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/rows/record.h"

namespace attnscope {

/// Writes JSON in which every float64 has a point or an exponent and every int64 has neither. A
/// JSON array is read as an Array if its elements are numbers of one type, or arrays of one shape
/// and type. Null among float64 is a number that is not finite. A Value::List that would be read as
/// an array of float64 is written as {"$list": [...]}. A record read back has the same text and
/// prints the same bytes. Some types change: a list of integers becomes an array, an array of
/// float32 becomes one of float64, and an empty array of integers becomes a list. Invalid UTF-8 is
/// replaced, as in printed JSON.
std::string record_text(const Record& record);

/// Reads the text of record_text(). The text is untrusted: throws Error(format) with `where`, the
/// store's path, as its file.
Record parse_record(std::string_view text, std::string_view where);

}  // namespace attnscope
