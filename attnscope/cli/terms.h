// Terms of the field, and what answers them here: the glossary that `explain` searches.
#pragma once

#include <span>
#include <string_view>

namespace attnscope {

struct Term {
  std::string_view names;    // the term and its synonyms, separated by "; "
  std::string_view use;      // the command, option or field: "ablate --prompts FILE"
  std::string_view meaning;  // one line
};

std::span<const Term> terms();

}  // namespace attnscope
