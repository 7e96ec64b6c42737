// Targets of encoder-decoder models: the input of the decoder; the other text is the source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/features/common/scored_texts.h"
#include "attnscope/forward/perplexity.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/sink.h"

namespace attnscope {

/// target, target_tokens.
Parameters target_parameters();

/// The options that give a target.
inline constexpr std::string_view kTargetParameters[] = {"target", "target_tokens", "target_file"};

/// Whether one of them is given.
bool target_is_given(const Arguments& arguments);

/// The tokens that a decoder has to predict for a text: its tokens with special tokens, up to and
/// including the first end token. Audio models: without the start token that the tokenizer adds.
TokenIds target_labels(const Model& model, const Tokenizer& tokenizer, std::string_view text);

/// The decoder start token. Throws Error(usage) if the model's files do not specify one.
std::int64_t start_token(const Model& model);

/// The decoder input for a text: the start token followed by its tokens without the end token.
/// `tokenizer`: of the model, null if it has none. Throws Error(usage).
TokenIds decoder_input(const Model& model, const Tokenizer* tokenizer, const std::string& text);

/// The decoder input: `target_tokens` unchanged, or the start token followed by the tokens of
/// `target` without the end token. Empty if neither is given. `tokenizer`: of the model, null if it
/// has none. Throws Error(usage).
std::optional<TokenIds> given_target(const Arguments& arguments, const Model& model,
                                     const Tokenizer* tokenizer);

/// token_sequences(), or the given images or audio; for a decoder these are the sources. Without
/// `target_file`, a decoder has one target and one source. With it, decoders get the pairs of lines
/// and encoders the source lines, of any lengths; their default number is `usual.sequences`.
/// `sent`: see media_inputs_of().
TokenSequences model_sequences(const Arguments& arguments, const Session& session,
                               const Model& model, const UsualWindows& usual = {},
                               const std::string& sent = "");

/// target, target_tokens, target_file: for commands that run several targets.
Parameters pair_parameters();
/// `with_windows`: for commands that also have window_parameters(). There `sequences`, `sample` and
/// `consecutive` select lines of `target_file`.
std::vector<Exclusion> pair_exclusions(bool with_windows);

/// For commands that measure attention on a target or on the lines of `target_file`.
std::vector<Exclusion> line_target_exclusions();

/// Pairs of sources and targets of one model: see TargetPair.
struct TargetTexts {
  std::vector<TargetPair> pairs;
  std::string source;  // origin of the sources: a file name, "text" or "tokens"
  std::shared_ptr<const Tokenizer> tokenizer = {};  // for `target_file`
};

/// Pairs of lines from `text_file` and `target_file`, or one text with `target` or `target_tokens`.
/// Skips pairs of empty lines. Throws Error(usage) if a text has no target, or if a line is empty
/// or missing in only one of the files.
TargetTexts target_texts(const Arguments& arguments, const Session& session, const Model& model);

/// The options that name a file of sources and a file of targets.
struct PairedFiles {
  const char* sources = "text_file";
  const char* targets = "target_file";
};

/// The pairs of these two files. Throws as target_texts().
TargetTexts target_lines(const Arguments& arguments, const Session& session, const Model& model,
                         const PairedFiles& files = {});

/// Throws what target_texts() and target_flags() would of `target_file`, with any of the models
/// that are of an encoder-decoder.
void check_target_lines(const std::vector<Model>& models, const Arguments& arguments,
                        const Session& session);

/// Which tokens of the targets count, including the start token. Throws the errors of
/// ScorePositions, and Error(usage) if none of these tokens is predicted.
ScoredTokens target_flags(const std::vector<TargetPair>& pairs, const ScorePositions& positions);

/// scored_texts(), or for encoder-decoders the target_texts() of each stack. Throws Error(usage) if
/// only some of the models are encoder-decoders.
ScoredTexts scored_texts_or_targets(const Arguments& arguments, const Session& session,
                                    const std::vector<Model>& models, RowSink& sink);

}  // namespace attnscope
