#include "attnscope/features/common/options/prompts_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/one_token.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"

namespace attnscope {
namespace {

constexpr std::size_t kMaxPrompts = 100'000;

/// A line of a file, for error messages.
struct PromptLocation {
  const std::string& file;
  std::size_t number;

  [[noreturn]] void refuse(const std::string& problem, const std::string& hint = "") const {
    throw Error(ErrorKind::format, {.file = file,
                                    .place = "line " + std::to_string(number),
                                    .problem = verbatim(problem),
                                    .hint = hint});
  }
};

/// Parses a text, a list of token ids, or a single id (answers).
PromptText text_in(const nlohmann::json& object, const char* key, const PromptLocation& location) {
  const std::string name = "'" + std::string(key) + "'";
  const auto found = object.find(key);
  if (found == object.end()) location.refuse("missing " + name);
  if (found->is_string()) {
    auto text = found->get<std::string>();
    if (text.empty()) location.refuse(name + " is empty");
    return text;
  }
  TokenIds ids;
  const nlohmann::json list = found->is_array() ? *found : nlohmann::json::array({*found});
  for (const nlohmann::json& id : list) {
    if (!id.is_number_integer() || id.get<std::int64_t>() < 0) {
      location.refuse(name + " is neither a text nor token ids");
    }
    ids.push_back(id.get<std::int64_t>());
  }
  if (ids.empty()) location.refuse(name + " is empty");
  return ids;
}

/// Parses `positions`: an object of labels, each with a position or a list of them.
PromptLabels labels_in(const nlohmann::json& object, const PromptLocation& location) {
  PromptLabels out;
  const auto found = object.find("positions");
  if (found == object.end()) return out;
  if (!found->is_object() || found->empty()) {
    location.refuse("'positions' is not an object of labels and positions");
  }
  for (const auto& [label, value] : found->items()) {
    Positions& positions = out[label];
    const nlohmann::json list = value.is_array() ? value : nlohmann::json::array({value});
    for (const nlohmann::json& position : list) {
      if (!position.is_number_integer()) {
        location.refuse("'positions' of '" + label + "' is neither a number nor a list of numbers");
      }
      positions.push_back(position.get<std::int64_t>());
    }
    if (positions.empty()) location.refuse("'positions' of '" + label + "' is empty");
  }
  return out;
}

/// Parses `group`: a text or a number.
std::optional<std::string> group_in(const nlohmann::json& object, const PromptLocation& location) {
  const auto found = object.find("group");
  if (found == object.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_number_integer()) location.refuse("'group' is neither a text nor a number");
  return found->dump();
}

bool same_labels(const PromptLabels& a, const PromptLabels& b) {
  return std::ranges::equal(a, b, {}, &PromptLabels::value_type::first,
                            &PromptLabels::value_type::first);
}

PromptLine parse_prompt(std::string_view text, const PromptLocation& location) {
  if (const auto broken = first_broken_utf8(text)) {
    location.refuse("is not UTF-8 at byte " + std::to_string(*broken));
  }
  const nlohmann::json object =
      parse_json(text, location.file, "line " + std::to_string(location.number));
  if (!object.is_object()) location.refuse("is not a JSON object");
  for (const auto& [key, value] : object.items()) {
    constexpr std::array kKeys = {"clean",     "corrupted", "correct",
                                  "incorrect", "positions", "group"};
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
      location.refuse("unknown key '" + key + "'",
                      "expected clean, corrupted, correct, incorrect, positions and group");
    }
  }
  PromptLine line{.number = location.number,
                  .clean = text_in(object, "clean", location),
                  .corrupted = {},
                  .right = text_in(object, "correct", location),
                  .wrong = text_in(object, "incorrect", location),
                  .group = group_in(object, location),
                  .labels = labels_in(object, location)};
  if (object.contains("corrupted")) line.corrupted = text_in(object, "corrupted", location);
  return line;
}

/// Tokenizes the prompts for one model.
class PromptTokenizer {
 public:
  PromptTokenizer(const Model& model, bool special, const std::string& file)
      : model_(model), special_(special), file_(file) {}

  TokenIds text(const PromptText& text) { return ids_of(text, special_); }

  std::int64_t answer(const PromptText& text, const char* key, std::size_t line) {
    const PromptLocation location{.file = file_, .number = line};
    const std::string name = "'" + std::string(key) + "'";
    if (const auto* ids = std::get_if<TokenIds>(&text)) {
      if (ids->size() == 1) return ids->front();
      location.refuse(name + " has " + std::to_string(ids->size()) + " token ids, expected one");
    }
    const OneToken found = one_token_of(tokenizer(), std::get<std::string>(text), model_.name());
    if (!found.id) location.refuse(name + ": " + found.problem, found.hint);
    return *found.id;
  }

 private:
  TokenIds ids_of(const PromptText& text, bool special) {
    if (const auto* ids = std::get_if<TokenIds>(&text)) return *ids;
    return tokenizer().encode(std::get<std::string>(text), special);
  }

  const Tokenizer& tokenizer() {
    if (!tokenizer_) tokenizer_ = tokenizer_of(model_, "prompts");
    return *tokenizer_;
  }

  const Model& model_;
  bool special_;
  const std::string& file_;
  std::optional<Tokenizer> tokenizer_;
};

AnsweredPrompts prompts_of(const std::vector<PromptLine>& lines, PromptTokenizer tokenizer,
                           const std::string& file) {
  AnsweredPrompts out;
  for (const PromptLine& line : lines) {
    out.clean.push_back(tokenizer.text(line.clean));
    out.right.push_back(tokenizer.answer(line.right, "correct", line.number));
    out.wrong.push_back(tokenizer.answer(line.wrong, "incorrect", line.number));
    const PromptLocation location{.file = file, .number = line.number};
    if (out.right.back() == out.wrong.back())
      location.refuse("'correct' and 'incorrect' are the same token");
    const auto clean = std::ssize(out.clean.back());
    if (!line.corrupted) continue;
    out.corrupted.push_back(tokenizer.text(*line.corrupted));
    const auto corrupted = std::ssize(out.corrupted.back());
    if (clean == corrupted) continue;
    location.refuse("'clean' has " + counted(clean, "token") + ", but 'corrupted' has " +
                    std::to_string(corrupted) + ": patching requires the same number");
  }
  return out;
}

/// The labels of each prompt, with positions counted from its start, ascending.
std::vector<PromptLabels> labels_of(const std::vector<PromptLine>& lines,
                                    const AnsweredPrompts& prompts, const std::string& file) {
  std::vector<PromptLabels> out;
  for (std::size_t at = 0; at < lines.size() && !lines.front().labels.empty(); ++at) {
    PromptLabels& labels = out.emplace_back(lines[at].labels);
    const std::int64_t tokens = std::ssize(prompts.clean[at]);
    for (auto& [label, positions] : labels) {
      for (std::int64_t& position : positions) {
        const std::int64_t given = position;
        if (position < 0) position += tokens;
        if (position >= 0 && position < tokens) continue;
        const PromptLocation location{.file = file, .number = lines[at].number};
        location.refuse("position " + std::to_string(given) + " of '" + label +
                        "' is not in its prompt of " + counted(tokens, "token"));
      }
      std::ranges::sort(positions);
      positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    }
  }
  return out;
}

/// The index of each prompt's group, in the order of their first prompts; empty without groups.
std::vector<std::int64_t> groups_of(const std::vector<PromptLine>& lines) {
  std::vector<std::int64_t> out;
  std::map<std::string, std::int64_t> known;
  for (const PromptLine& line : lines) {
    if (!line.group) continue;
    out.push_back(known.try_emplace(*line.group, std::ssize(known)).first->second);
  }
  return out;
}

}  // namespace

Parameter prompts_parameter(const std::string& help, OptionGroup group) {
  return {.name = "prompts",
          .type = ParameterType::file,
          .group = group,
          .help = help + ". FILE: JSON Lines with the keys clean, corrupted, correct, incorrect",
          .metavariable = "FILE"};
}

Exclusion prompts_exclusion(const std::vector<std::string>& of_command) {
  Exclusion out{"prompts",
                {"text", "text_pair", "text_file", "tokens", "token_types", "chat"},
                "gives the texts"};
  out.beside.insert(out.beside.end(), of_command.begin(), of_command.end());
  return out;
}

std::vector<PromptLine> parse_prompts(std::string_view text, const std::string& file) {
  std::vector<PromptLine> lines;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const PromptLocation location{.file = file, .number = number};
    if (lines.size() == kMaxPrompts) {
      location.refuse("is over the limit of " + std::to_string(kMaxPrompts) + " prompts");
    }
    lines.push_back(parse_prompt(line, location));
    const PromptLine& first = lines.front();
    if (!same_labels(lines.back().labels, first.labels)) {
      location.refuse("its 'positions' have other labels than those of line " +
                      std::to_string(first.number));
    }
    if (lines.back().group.has_value() != first.group.has_value()) {
      location.refuse(std::string("has ") + (first.group ? "no" : "a") + " 'group', but line " +
                      std::to_string(first.number) + " has " + (first.group ? "one" : "none"));
    }
    if (lines.back().corrupted.has_value() == first.corrupted.has_value()) continue;
    location.refuse(std::string("has ") + (first.corrupted ? "no" : "a") +
                    " 'corrupted', but line " + std::to_string(first.number) + " has " +
                    (first.corrupted ? "one" : "none"));
  }
  if (!lines.empty()) return lines;
  throw Error(
      ErrorKind::format,
      {.file = file,
       .problem = "contains no prompts",
       .hint = R"(one JSON object per line: {{"clean": "…", "correct": " a", "incorrect": " b"})"});
}

PromptsRequest prompts_request(const Arguments& arguments, const Session& session,
                               const std::vector<Model>& models) {
  const std::string file = arguments.text("prompts");
  const std::vector<PromptLine> lines =
      parse_prompts(session.files->read_text(file, kTextLimitBytes), file);
  PromptsRequest request{
      .of_models = {},
      .parameters = {{"prompts", std::filesystem::path(file).filename().string()}},
      .groups = groups_of(lines)};
  for (const Model& model : models) {
    AnsweredPrompts& prompts = request.of_models.emplace_back(prompts_of(
        lines, PromptTokenizer(model, !arguments.flag("no_special_tokens"), file), file));
    const TextRows tokens = prompt_rows(prompts);
    check_token_count(std::ssize(prompts.clean), tokens.longest);
    request.labels = labels_of(lines, prompts, file);
  }
  return request;
}

}  // namespace attnscope
