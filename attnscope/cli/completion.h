// Shell completions and the manual page, from the descriptions of commands.
#pragma once

#include <string>

#include "attnscope/features/framework/command.h"

namespace attnscope {

/// The command `completion`, which only the command line has.
Command completion_command();

std::string bash_completion();
std::string fish_completion();
std::string manual_page();
std::string zsh_completion();

/// What a shell offers as completions of a value.
enum class Offer { nothing, words, list, files, folders };
Offer offer_of(const Parameter& parameter);

/// `text` in single quotes, as sh and zsh read it.
std::string shell_quoted(std::string_view text);

}  // namespace attnscope
