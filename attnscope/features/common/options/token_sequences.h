// The token sequences that a command runs: a whole text, windows of a file or token shard, or
// lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/token_windows.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {

/// Default number and length of the windows of a file. Windows are never longer than the model's
/// context.
struct UsualWindows {
  std::int64_t sequences = 100, length = 100;
  std::int64_t shortest_line = 1;  // lines with fewer tokens are skipped
};
/// For commands that measure losses: fewer and longer windows.
inline constexpr UsualWindows kScoredWindows = {.sequences = 16, .length = 256, .shortest_line = 2};

/// token_file, sequences, length, sample, consecutive: windows of a long text.
Parameters window_parameters(const UsualWindows& usual = {});

/// The token sequences that a model is run on.
struct TokenSequences {
  /// All of the same length unless they are lines. For a decoder: its targets.
  std::vector<TokenIds> of_model;
  Record parameters;      // report parameters that describe the source of the tokens
  std::string note = {};  // see unknown_note(); usually empty
  std::shared_ptr<const Tokenizer> tokenizer = {};  // null if token ids were given
  std::vector<TokenIds> sources = {};  // for a decoder: one per target; otherwise empty
  /// Images or audio that replace `of_model`, or `sources` for a decoder.
  std::vector<MediaInput> media_inputs = {};
  /// Which tokens of `of_model` count in losses and means; empty: all.
  ScoredTokens scored = {};
};

/// Texts that are not split into windows: one sequence each. `source`: for the report.
TokenSequences whole_texts(std::vector<TokenIds> texts, const std::string& source);
/// The single sequence of a text that is not split into windows.
TokenSequences whole_text(TokenIds ids, std::shared_ptr<const Tokenizer> tokenizer);

/// Throws Error(usage) if the sequences have too many tokens in total to fit in memory.
void check_token_count(std::int64_t sequences, std::int64_t length);

/// The seed for random windows, or for random lines if the request's length is 1; empty for
/// consecutive windows. If a text has more windows than are used, random windows are the default:
/// neighboring windows are similar, so the standard errors of consecutive windows are too small. A
/// single window has no standard error and is the first one.
std::optional<std::uint64_t> sample_of(const Arguments& arguments, const WindowRequest& request,
                                       std::int64_t tokens);

/// A whole text, or the requested windows of a file.
TokenSequences token_sequences(const Arguments& arguments, const Session& session,
                               const Model& model, const UsualWindows& usual = {});

/// token_sequences() of every model with kScoredWindows; notes go to `sink`. Throws Error(usage) if
/// no text is given.
ScoredTexts scored_texts(const Arguments& arguments, const Session& session,
                         const std::vector<Model>& models, RowSink& sink);

}  // namespace attnscope
