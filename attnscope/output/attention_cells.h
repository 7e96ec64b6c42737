// What the tables of `attention` share.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/results/record.h"

namespace attnscope {

/// "0.93 ±0.01" of the fields `name` and `name`_error; without the error where that is null, "-"
/// where the mean is.
std::string mean_and_error(const Record& row, const std::string& name, const char* format,
                           const char* error_format);

/// "L4 H0": the layer and the head of a row.
std::string head_text(const Record& row);

/// "100 sequences of 100 tokens (book.txt)", as far as the parameters of a report say it.
std::string sequences_text(const Record& parameters);

/// One of " .:-=+*#%@", emptier to fuller, for `share` in [0, 1]: what stands for a colour where
/// there is none.
char density_character(double share);

}  // namespace attnscope
