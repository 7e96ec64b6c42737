// What the name of a file promises: rows.csv holds CSV.
#pragma once

#include <string>

#include "attnscope/features/framework/arguments.h"

namespace attnscope {

/// ".csv" of "rows.CSV"; empty where there is none.
std::string ending_of(const std::string& path);

/// Throws Error(usage) where `path` ends as files of a known kind do which the parameter's file is
/// not. Other endings promise nothing.
void check_ending(const Parameter& parameter, const std::string& path);

/// The format of a report: the one that was asked for, else the one that the ending of its file
/// stands for, else the usual one. Throws Error(usage) where format and ending disagree.
std::string format_of(const Arguments& arguments);

}  // namespace attnscope
