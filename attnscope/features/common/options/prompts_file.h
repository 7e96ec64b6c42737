// `--prompts`: a file of prompts with a right answer and a wrong one each, in JSON lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/prompt_preference.h"

namespace attnscope {

Parameter prompts_parameter(std::string help);
/// What has no meaning beside them: other texts, and what a command names.
Exclusion prompts_exclusion(const std::vector<std::string>& of_command);

/// A text, or the ids of one.
using PromptText = std::variant<std::string, TokenIds>;

struct PromptLine {
  std::size_t number = 0;  // in the file, from 1
  PromptText clean;
  std::optional<PromptText> corrupted;
  PromptText right, wrong;
};

/// Throws Error(format) that names the file and the line for text that is no UTF-8, no JSON object
/// or one without what a prompt needs or with more, and where some prompts are corrupted and others
/// not; Error(format) for a file of no prompt.
std::vector<PromptLine> parse_prompts(std::string_view text, const std::string& file);

/// What the arguments ask of each model. Throws as parse_prompts(), and Error(format) for answers
/// that are not one token each of a model, or the same, and texts that differ in their tokens'
/// count.
PromptsRequest prompts_request(const Arguments& arguments, const Session& session,
                               const std::vector<Model>& models);

}  // namespace attnscope
