// Tokens in tables.
#pragma once

#include <string>
#include <string_view>

#include "attnscope/results/record.h"

namespace attnscope {

/// A token on one line, its spaces to be seen; its id where it has no text.
std::string token_cell(const Record& token, std::string_view text_field_name,
                       std::string_view id_field);

}  // namespace attnscope
