// Options for the examples of a text: lines as examples, and which positions are scored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/inputs/text/score_positions.h"
#include "attnscope/inputs/text/token_windows.h"

namespace attnscope {

/// lines, score_positions.
Parameters example_parameters();
/// Options that `lines` excludes. `with_windows`: for commands that also have
/// window_parameters().
std::vector<Exclusion> example_exclusions(bool with_windows);

/// Whether `lines` or `score_positions` is given, so that windows start where examples start.
bool asks_for_examples(const Arguments& arguments);
/// Throws Error(usage) if one of them is given; for runs without an input text.
void refuse_examples_without_text(const Arguments& arguments);

/// Number of tokens of an example.
using LengthOf = std::function<std::int64_t(std::size_t example)>;

/// The scored positions that `score_positions` selects in each example.
class ScorePositions {
 public:
  /// Reads the mask file, if one is given. Throws Error for an invalid list of positions or mask.
  ScorePositions(const Arguments& arguments, const Session& session);

  /// Whether scored positions were selected; otherwise all tokens count.
  bool given() const { return !text_.empty(); }
  bool is_mask() const { return mask_.has_value(); }
  /// Throws Error(usage) if a mask has neither `all` nor `run` examples or has other lengths, or if
  /// a position lies past the end of every example. `run`: the first examples, which are run.
  void check_examples(std::size_t all, std::size_t run, const LengthOf& tokens_of) const;
  void check_examples(std::span<const TokenIds> all) const;
  /// A flag per token of an example: 1 if it counts, else 0.
  TokenIds of(std::size_t example, std::int64_t tokens) const;
  /// Adds "score_positions" to the parameters of a report, if given.
  void add_to(Record& parameters) const;

 private:
  std::string text_;
  std::vector<PositionRange> ranges_;
  std::optional<PositionMask> mask_;
};

/// Throws Error(usage) if no predicted token counts. `writes`: a causal model, which never predicts
/// the first token.
void check_scored(const ScoredTokens& scored, bool writes);

/// Note about skipped lines of a single token; empty if there are none.
std::string left_out_note(const std::string& model, std::int64_t lines);

/// Removes examples of a single token, which have nothing to predict, and adds a note with their
/// number. Throws Error(usage) if no example is left.
void leave_out_single_tokens(const std::string& model, std::vector<TokenIds>& examples,
                             ScoredTokens& scored, RowSink& sink);

/// The tokens of each line that has any, with special tokens if `special`.
std::vector<TokenIds> line_examples(const std::string& text, const Tokenizer& tokenizer,
                                    bool special);

/// Windows of tokens cut from examples; none crosses the end of an example.
struct ExampleWindows {
  std::vector<TokenIds> windows;
  ScoredTokens scored;                // empty: all tokens count
  std::vector<std::size_t> examples;  // of each window; empty after equal_examples()
  std::int64_t skipped = 0;           // number of examples that are too short
};

/// The requested number of windows of whole examples, in order or drawn with the request's seed. An
/// example that is longer than a window gives several windows; one with fewer than `least` tokens
/// gives none. `place` names the text in errors.
ExampleWindows windows_of_examples(const std::vector<TokenIds>& examples,
                                   const ScorePositions& positions, const WindowRequest& request,
                                   const std::string& place, std::int64_t least = 1);

/// The same for a text of `tokens` tokens whose examples all have the requested length. `ids`
/// returns the token ids of a range: first position, count.
ExampleWindows equal_examples(std::int64_t tokens,
                              const std::function<TokenIds(std::int64_t, std::int64_t)>& ids,
                              const ScorePositions& positions, const WindowRequest& request,
                              const std::string& place);

}  // namespace attnscope
