// Records as they are printed in JSON: one line.
#pragma once

#include <string>

#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Null where a number is not finite; broken UTF-8 is replaced.
std::string json_text(const Record& record);
std::string json_text(const Value& value);

/// How a report in JSON tells of what was skipped.
Record skipped_record(const Skipped& skipped);

}  // namespace attnscope
