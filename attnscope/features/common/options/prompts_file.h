// `--prompts`: a JSON Lines file of prompts, each with a correct and an incorrect answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/prompt_preference.h"

namespace attnscope {

/// `help`: what is measured for the prompts; the format of the file is added.
Parameter prompts_parameter(const std::string& help, OptionGroup group = OptionGroup::mode);
/// Excludes other input texts and the options in `of_command`.
Exclusion prompts_exclusion(const std::vector<std::string>& of_command);

/// A text or its token ids.
using PromptText = std::variant<std::string, TokenIds>;

struct PromptLine {
  std::size_t number = 0;  // in the file, from 1
  PromptText clean;
  std::optional<PromptText> corrupted;
  PromptText right, wrong;
  std::optional<std::string> group = {};  // prompts of one template, which are not independent
  PromptLabels labels = {};               // `positions`; negative ones count from the end
};

/// Throws Error(format) with the file and line if a line is not UTF-8 or not a JSON object, or if a
/// key is missing or unknown. Also throws it if only some prompts have a corrupted text or a group,
/// if prompts label different positions, or if the file has no prompts.
std::vector<PromptLine> parse_prompts(std::string_view text, const std::string& file);

/// The prompts for each model. Throws the errors of parse_prompts(). Also throws Error(format) if
/// an answer is not a single token, or both answers are the same token. The same if clean and
/// corrupted text differ in their number of tokens, or a labeled position is past the end.
PromptsRequest prompts_request(const Arguments& arguments, const Session& session,
                               const std::vector<Model>& models);

}  // namespace attnscope
