// Derives file formats from file extensions: rows.csv contains CSV.
#pragma once

#include <string>

#include "attnscope/features/framework/arguments.h"

namespace attnscope {

/// ".csv" for "rows.CSV"; empty if there is no file extension.
std::string ending_of(const std::string& path);

/// Throws Error(usage) if `path` has a known file extension that does not fit the parameter.
/// Unknown file extensions are accepted.
void check_ending(const Parameter& parameter, const std::string& path);

/// The format of a report: the requested one, else the one of the output file's extension, else the
/// default. Throws Error(usage) if format and file extension disagree.
std::string format_of(const Arguments& arguments);

}  // namespace attnscope
