// Converts records to JSON on one line.
#pragma once

#include <string>

#include "attnscope/rows/record.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// Numbers that are not finite become null; invalid UTF-8 is replaced.
std::string json_text(const Record& record);
std::string json_text(const Value& value);

/// The JSON entry of a skipped matrix or head.
Record skipped_record(const Skipped& skipped);

}  // namespace attnscope
