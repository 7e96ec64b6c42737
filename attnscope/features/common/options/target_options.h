// What the decoder of an encoder-decoder runs on: a target beside the text, which is its source.
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

/// The parameters that give a target.
inline constexpr std::string_view kTargetParameters[] = {"target", "target_tokens", "target_file"};

/// Whether one of them is given.
bool target_is_given(const Arguments& arguments);

/// The tokens of a text that a decoder is to foretell: those of its tokenizer with the special
/// ones, up to the first that ends a text; of a decoder of sound without the start token, with
/// which its tokenizer begins.
TokenIds target_labels(const Model& model, const Tokenizer& tokenizer, std::string_view text);

/// The token that a decoder's text begins with. Throws Error(usage) where its files say none.
std::int64_t start_token(const Model& model);

/// What the decoder runs on: `target_tokens` as they are; the start token, and after it those of
/// `target` that come before the end of the text; none where neither is given. `tokenizer`: that of
/// the model, null where it has none. Throws Error(usage).
std::optional<TokenIds> given_target(const Arguments& arguments, const Model& model,
                                     const Tokenizer* tokenizer);

/// token_sequences(), or the images or sound that are named; of a decoder these are its sources.
/// That has one target, and so one source, or those of `target_file`, whose sources an encoder has,
/// too: pairs of any lengths, `usual.sequences` of them if no number is given. `sent`: see
/// media_inputs_of().
TokenSequences model_sequences(const Arguments& arguments, const Session& session,
                               const Model& model, const UsualWindows& usual = {},
                               const std::string& sent = "");

/// target, target_tokens, target_file: of commands that run many targets.
Parameters pair_parameters();
/// `with_windows`: of commands that have window_parameters(), too, of which `sequences`, `sample`
/// and `consecutive` choose among the lines of `target_file`.
std::vector<Exclusion> pair_exclusions(bool with_windows);

/// Of commands that measure attention on a target, or on the lines of `target_file`.
std::vector<Exclusion> line_target_exclusions();

/// Pairs of sources and targets of one model: see TargetPair.
struct TargetTexts {
  std::vector<TargetPair> pairs;
  std::string source;  // where the sources come from: a file's name, "text" or "tokens"
  std::shared_ptr<const Tokenizer> tokenizer = {};  // that of `target_file`
};

/// Lines of `text_file` with those of `target_file`; or one text with `target` or `target_tokens`.
/// A pair of empty lines is left out. Throws Error(usage) where a text has no target, or a line of
/// one file is empty or missing that the other has.
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

/// Which tokens of targets count, from the start token on. Throws as ScorePositions, and
/// Error(usage) if none of those is predicted.
ScoredTokens target_flags(const std::vector<TargetPair>& pairs, const ScorePositions& positions);

/// scored_texts(), or of encoder-decoders the target_texts() of each stack. Throws Error(usage)
/// where only some of the models are such.
ScoredTexts scored_texts_or_targets(const Arguments& arguments, const Session& session,
                                    const std::vector<Model>& models, RowSink& sink);

}  // namespace attnscope
