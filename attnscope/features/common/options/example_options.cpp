#include "attnscope/features/common/options/example_options.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::uint64_t kMaskLimitBytes = std::uint64_t{1} << 30;

/// Part of an example.
struct Piece {
  std::size_t example = 0;
  std::int64_t first = 0, count = 0;
};

std::vector<Piece> pieces_of(const std::vector<TokenIds>& examples, std::int64_t length,
                             std::int64_t least) {
  std::vector<Piece> pieces;
  for (std::size_t example = 0; example < examples.size(); ++example) {
    const std::int64_t tokens = std::ssize(examples[example]);
    if (tokens < least) continue;
    for (std::int64_t first = 0; first < tokens; first += length) {
      Piece piece{.example = example, .first = first, .count = std::min(length, tokens - first)};
      // A single token would never be predicted, so its window starts one token earlier.
      const bool alone = piece.count == 1 && first > 0;
      if (alone) piece = {.example = example, .first = first - 1, .count = 2};
      pieces.push_back(piece);
    }
  }
  return pieces;
}

/// Indices of the examples to run, out of `count`.
std::vector<std::int64_t> drawn(std::int64_t count, WindowRequest request,
                                const std::string& place) {
  request.length = 1;
  return window_starts(count, request, place);
}

bool has_ending(const std::string& path, std::string_view ending) {
  return std::filesystem::path(path).extension() == ending;
}

}  // namespace

Parameters example_parameters() {
  return {
      {.name = "lines",
       .type = flag,
       .group = OptionGroup::input,
       .help = "treat each line as a separate example; no window crosses lines"},
      {.name = "score_positions",
       .type = text,
       .group = OptionGroup::input,
       .help = "positions, from 0, of the predicted tokens that count in losses and means: last, "
               "10-, 3,7 or 5-9. Or a mask file: a text file with a line of 0s and 1s per example, "
               "or a boolean .npy.",
       .metavariable = "POSITIONS",
       .default_words = "all"}};
}

std::vector<Exclusion> example_exclusions(bool with_windows) {
  if (!with_windows)
    return {{"lines",
             {"tokens", "target", "target_tokens", "text_pair", "token_types", "chat"},
             "splits a text"}};
  return {{"lines", {"tokens", "token_file", "text_pair", "token_types", "chat"}, "splits a text"}};
}

bool asks_for_examples(const Arguments& arguments) {
  return arguments.flag("lines") || arguments.given("score_positions");
}

void refuse_examples_without_text(const Arguments& arguments) {
  for (const char* name : {"lines", "score_positions"}) {
    if (!arguments.given(name)) continue;
    throw Error(ErrorKind::usage, {.parameter = name,
                                   .problem = "requires an input text",
                                   .hint = "pass {text_file} or {token_file}"});
  }
}

ScorePositions::ScorePositions(const Arguments& arguments, const Session& session)
    : text_(arguments.text("score_positions")) {
  if (!arguments.given("score_positions")) return;
  const auto refuse = [](const std::string& problem) {
    throw Error(ErrorKind::usage, {.parameter = "score_positions",
                                   .problem = problem,
                                   .hint = "for example: last, 10-, 3,7, 5-9, or a mask file"});
  };
  if (auto ranges = parse_position_ranges(text_)) {
    for (const PositionRange& range : *ranges) {
      if (range.first < 0 && range.last >= 0) {
        refuse("'" + verbatim(text_) +
               "' has a range that starts at a position counted from the end and ends at "
               "one counted from the start");
      }
      const bool same_end = (range.first < 0) == (range.last < 0);
      if (same_end && range.first > range.last) {
        refuse("'" + verbatim(text_) + "' has a range that ends before it starts");
      }
    }
    if (ranges->empty()) refuse("contains no position");
    ranges_ = *std::move(ranges);
    return;
  }
  std::error_code ignored;  // of a name that the system refuses, such as a very long one
  if (!std::filesystem::exists(text_, ignored)) {
    refuse("'" + verbatim(text_) + "' is neither a list of positions nor an existing file");
  }
  session.files->add_input("score_positions", text_);
  const std::string bytes = session.files->read_text(text_, kMaskLimitBytes);
  mask_ =
      has_ending(text_, ".npy") ? read_npy_mask(bytes, text_) : parse_position_mask(bytes, text_);
}

void ScorePositions::check_examples(std::size_t all, std::size_t run,
                                    const LengthOf& tokens_of) const {
  if (mask_ && mask_->size() != all && mask_->size() != run) {
    throw Error(ErrorKind::usage, {.file = text_,
                                   .problem = "the mask has " + counted(mask_->size(), "example") +
                                              ", but the text has " + std::to_string(all)});
  }
  if (mask_) {
    for (std::size_t example = 0; example < mask_->size(); ++example) {
      check_mask_length(*mask_, example, tokens_of(example), text_);
    }
  }
  if (ranges_.empty()) return;
  std::int64_t longest = 0;
  for (std::size_t example = 0; example < all; ++example) {
    longest = std::max(longest, tokens_of(example));
  }
  for (const PositionRange& range : ranges_) {
    if (!positions_of({range}, longest).empty()) continue;
    throw Error(ErrorKind::usage,
                {.parameter = "score_positions",
                 .problem = "'" + verbatim(text_) + "' has a position past the end of " +
                            (all == 1 ? "the example (" : "every example (longest: ") +
                            counted(longest, "token") + ")"});
  }
}

void ScorePositions::check_examples(std::span<const TokenIds> all) const {
  check_examples(all.size(), all.size(),
                 [&](std::size_t example) { return std::ssize(all[example]); });
}

TokenIds ScorePositions::of(std::size_t example, std::int64_t tokens) const {
  TokenIds flags(static_cast<std::size_t>(tokens), 0);
  const Positions chosen =
      mask_ ? positions_of(*mask_, example, tokens, text_) : positions_of(ranges_, tokens);
  for (const std::int64_t position : chosen) flags[static_cast<std::size_t>(position)] = 1;
  return flags;
}

void ScorePositions::add_to(Record& parameters) const {
  if (!given()) return;
  const std::string shown = mask_ ? std::filesystem::path(text_).filename().string() : text_;
  parameters.add("score_positions", shown);
}

void check_scored(const ScoredTokens& scored, bool writes) {
  for (const TokenIds& flags : scored) {
    const auto first = flags.begin() + (writes && !flags.empty() ? 1 : 0);
    if (std::find(first, flags.end(), 1) != flags.end()) return;
  }
  if (scored.empty()) return;
  throw Error(ErrorKind::usage,
              {.parameter = "score_positions",
               .problem = std::string("selects no predicted token in any example") +
                          (writes ? "; position 0 is never predicted" : "")});
}

std::string left_out_note(const std::string& model, std::int64_t lines) {
  if (lines == 0) return "";
  return verbatim(model) + ": " + counted(lines, "line") +
         " skipped: a single token has nothing to predict";
}

void leave_out_single_tokens(const std::string& model, std::vector<TokenIds>& examples,
                             ScoredTokens& scored, RowSink& sink) {
  std::vector<TokenIds> kept, kept_scored;
  for (std::size_t at = 0; at < examples.size(); ++at) {
    if (examples[at].size() < 2) continue;
    kept.push_back(std::move(examples[at]));
    if (!scored.empty()) kept_scored.push_back(std::move(scored[at]));
  }
  const std::size_t left = examples.size() - kept.size();
  if (kept.empty()) {
    throw Error(ErrorKind::usage,
                {.parameter = "lines", .problem = "no line has at least two tokens"});
  }
  if (left > 0) sink.add_note(left_out_note(model, static_cast<std::int64_t>(left)));
  examples = std::move(kept);
  scored = std::move(kept_scored);
  check_scored(scored, /*writes=*/false);
}

std::vector<TokenIds> line_examples(const std::string& text, const Tokenizer& tokenizer,
                                    bool special) {
  std::vector<TokenIds> examples;
  for (std::string& line : split(text, '\n')) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    TokenIds ids = tokenizer.encode(line, special);
    if (!ids.empty()) examples.push_back(std::move(ids));
  }
  return examples;
}

ExampleWindows windows_of_examples(const std::vector<TokenIds>& examples,
                                   const ScorePositions& positions, const WindowRequest& request,
                                   const std::string& place, std::int64_t least) {
  const std::vector<Piece> pieces = pieces_of(examples, request.length, least);
  if (pieces.empty()) {
    const std::string most = least == 1 ? "has no tokens" : "no line has at least two tokens";
    throw Error(ErrorKind::usage, {.file = place, .problem = most});
  }
  if (!request.or_fewer && request.sequences > std::ssize(pieces)) {
    throw Error(ErrorKind::usage,
                {.file = place,
                 .problem = "has " + counted(pieces.size(), "example") + " of at most " +
                            counted(request.length, "token") + ", fewer than {sequences} " +
                            std::to_string(request.sequences)});
  }
  const std::vector<std::int64_t> numbers = drawn(std::ssize(pieces), request, place);
  const bool first_ones = !request.sample;
  const std::size_t run = pieces[static_cast<std::size_t>(numbers.back())].example + 1;
  positions.check_examples(examples.size(), first_ones ? run : examples.size(),
                           [&](std::size_t example) { return std::ssize(examples[example]); });
  ExampleWindows out;
  out.skipped = std::count_if(examples.begin(), examples.end(),
                              [&](const TokenIds& ids) { return std::ssize(ids) < least; });
  for (const std::int64_t number : numbers) {
    const Piece& piece = pieces[static_cast<std::size_t>(number)];
    const TokenIds& ids = examples[piece.example];
    if (piece.count == std::ssize(ids)) {
      out.windows.push_back(ids);  // with the types of its tokens
    } else {
      out.windows.emplace_back(ids.begin() + piece.first, ids.begin() + piece.first + piece.count);
    }
    out.examples.push_back(piece.example);
    if (!positions.given()) continue;
    const TokenIds flags = positions.of(piece.example, std::ssize(ids));
    out.scored.emplace_back(flags.begin() + piece.first, flags.begin() + piece.first + piece.count);
  }
  return out;
}

ExampleWindows equal_examples(std::int64_t tokens,
                              const std::function<TokenIds(std::int64_t, std::int64_t)>& ids,
                              const ScorePositions& positions, const WindowRequest& request,
                              const std::string& place) {
  WindowRequest in_order = request;
  in_order.sample.reset();
  window_starts(tokens, in_order, place);  // throws if there are too few
  const std::int64_t count = tokens / request.length;
  const std::vector<std::int64_t> numbers = drawn(count, request, place);
  positions.check_examples(static_cast<std::size_t>(count),
                           request.sample ? static_cast<std::size_t>(count) : numbers.size(),
                           [&](std::size_t) { return request.length; });
  ExampleWindows out;
  for (const std::int64_t number : numbers) {
    out.windows.push_back(ids(number * request.length, request.length));
    if (!positions.given()) continue;
    out.scored.push_back(positions.of(static_cast<std::size_t>(number), request.length));
  }
  return out;
}

}  // namespace attnscope
