// The examples of a text: which of their tokens count in losses and means, and lines as examples.
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
/// What `lines` has no meaning for.
/// `with_windows`: of commands that have window_parameters(), too.
std::vector<Exclusion> example_exclusions(bool with_windows);

/// Whether the arguments ask for examples, so that windows begin where examples do.
bool asks_for_examples(const Arguments& arguments);
/// Throws Error(usage) if they do, for commands that are given no text.
void refuse_examples_without_text(const Arguments& arguments);

/// The tokens of an example.
using LengthOf = std::function<std::int64_t(std::size_t example)>;

/// What `score_positions` says of the tokens of examples.
class ScorePositions {
 public:
  /// Reads a mask's file. Throws Error about what is neither positions nor a mask.
  ScorePositions(const Arguments& arguments, const Session& session);

  /// Whether only some tokens count.
  bool given() const { return !text_.empty(); }
  bool is_mask() const { return mask_.has_value(); }
  /// Throws Error(usage) if it is a mask of another number of examples than `all`, and than `run`
  /// if those are the first ones; a mask of other lengths; or names positions that no example has.
  void check_examples(std::size_t all, std::size_t run, const LengthOf& tokens_of) const;
  void check_examples(std::span<const TokenIds> all) const;
  /// 1 for each token of an example that counts, else 0.
  TokenIds of(std::size_t example, std::int64_t tokens) const;
  /// Adds "score_positions" to what a report says of its text, if given.
  void add_to(Record& parameters) const;

 private:
  std::string text_;
  std::vector<PositionRange> ranges_;
  std::optional<PositionMask> mask_;
};

/// Throws Error(usage) if no token that counts is predicted. `writes`: the model predicts each
/// token from those before it, so that no first one is predicted.
void check_scored(const ScoredTokens& scored, bool writes);

/// What to say of lines of a single token that are left out; empty if there are none.
std::string left_out_note(const std::string& model, std::int64_t lines);

/// Leaves out those of a single token, of which none is predicted from another; a note counts them.
/// Throws Error(usage) if no other is left.
void leave_out_single_tokens(const std::string& model, std::vector<TokenIds>& examples,
                             ScoredTokens& scored, RowSink& sink);

/// The lines of a text that have tokens, each with the special tokens of a text if `special`.
std::vector<TokenIds> line_examples(const std::string& text, const Tokenizer& tokenizer,
                                    bool special);

/// Sequences cut from examples, which they never cross.
struct ExampleWindows {
  std::vector<TokenIds> windows;
  ScoredTokens scored;                // empty: all tokens count
  std::vector<std::size_t> examples;  // of each window: which it is of; empty of equal_examples()
  std::int64_t skipped = 0;           // examples that are too short
};

/// As many windows of whole examples as the request asks for, in order or drawn with its seed. An
/// example longer than its length gives several; one of fewer than `least` tokens none. `place`
/// names the text in errors.
ExampleWindows windows_of_examples(const std::vector<TokenIds>& examples,
                                   const ScorePositions& positions, const WindowRequest& request,
                                   const std::string& place, std::int64_t least = 1);

/// Of a text of so many tokens whose examples all have the request's length. `ids`: so many from a
/// position on.
ExampleWindows equal_examples(std::int64_t tokens,
                              const std::function<TokenIds(std::int64_t, std::int64_t)>& ids,
                              const ScorePositions& positions, const WindowRequest& request,
                              const std::string& place);

}  // namespace attnscope
