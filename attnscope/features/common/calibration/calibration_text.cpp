#include "attnscope/features/common/calibration/calibration_text.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/calibration/calibration_examples.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/common/options/token_sequences.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/inputs/text/token_shard.h"
#include "attnscope/inputs/text/token_windows.h"
#include "attnscope/inputs/text/tokenizer.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kLongestWindow = 2048;  // tokens
constexpr const char* kHeldOutIsFitted = "the evaluation text is the same as the calibration text";

/// All tokens of a text file or of a shard.
TokenIds file_tokens(const Session& session, const Model& model, const std::string& path,
                     bool shard) {
  if (shard) {
    const TokenShard tokens(path);
    if (const auto vocabulary = model.dimensions().vocabulary) tokens.check_ids(*vocabulary);
    return tokens.ids(0, tokens.size());
  }
  const std::string text = session.files->read_text(path, kTextLimitBytes);
  check_text(text, {.file = path});
  return tokenizer_of(model, "calibration_token_file").encode(text, /*special=*/false);
}

/// Consecutive windows. The last one may be shorter, but has at least two tokens.
std::vector<TokenIds> all_windows(std::span<const std::int64_t> tokens, std::int64_t length) {
  std::vector<TokenIds> out;
  for (std::int64_t first = 0; first + 1 < std::ssize(tokens); first += length) {
    const auto count = std::min<std::int64_t>(length, std::ssize(tokens) - first);
    const auto begin = tokens.begin() + first;
    if (count > 1) out.emplace_back(begin, begin + count);
  }
  return out;
}

std::int64_t widest_input(const Model& model) {
  const Dimensions& dimensions = model.dimensions();
  return std::max(
      {dimensions.width, dimensions.mlp_width, dimensions.heads.total_dim(Role::output)});
}

std::string few_tokens(const Model& model, std::int64_t read) {
  return "the calibration text has " + counted(read, "token") + ", fewer than the " +
         std::to_string(widest_input(model)) + " inputs of the widest matrix; use more text";
}

/// Maximum number of tokens of a text, limited by the context and the position embeddings.
/// RoBERTa's config counts two more positions than tokens.
std::int64_t context_of(const Session& session, const Model& model) {
  const Compute compute{.kernels = session.context.kernels, .stop = session.context.stop};
  const std::int64_t longest = ForwardPass(model, /*copy_weights=*/false, compute).longest();
  return std::min(longest, model.dimensions().context.value_or(kLongestWindow));
}

/// The special tokens and the mask token of a bidirectional model's tokenizer.
struct MaskedModel {
  TokenIds before, after;
  std::optional<std::int64_t> mask;

  std::int64_t around() const { return std::ssize(before) + std::ssize(after); }

  void put_around(std::vector<TokenIds>& windows) const {
    for (TokenIds& window : windows) {
      window.insert(window.begin(), before.begin(), before.end());
      window.insert(window.end(), after.begin(), after.end());
    }
  }
};

MaskedModel masked_model(const Model& model) {
  MaskedModel out;
  if (model.spec().causal) return out;
  const std::optional<Tokenizer> tokenizer = Tokenizer::find(model.checkpoint().folder());
  if (!tokenizer) return out;
  out.mask = tokenizer->special_tokens().mask;
  const TokenIds empty = tokenizer->encode("", /*special=*/true);
  const auto half = empty.begin() + (std::ssize(empty) + 1) / 2;
  out.before.assign(empty.begin(), half);
  out.after.assign(half, empty.end());
  return out;
}

/// With fewer tokens, second moments are estimated poorly.
std::int64_t tokens_needed(const Model& model) { return 16 * widest_input(model); }

/// Copies of weights that exist at the same time, at most: the original model, a changed one, and
/// the changed tensors.
constexpr std::uint64_t kCopies = 3;

/// Size of a float32 copy of a model's weights during a plan; 0 if none is made.
std::uint64_t plan_copy_bytes(const Session& session, const Model& model) {
  return copied_weights_bytes(model, session.context.memory_bytes / kCopies);
}

/// Pairs of lines. Evaluation pairs come from separate files, or are the last tenth.
PlanText paired_text(const Arguments& arguments, const Session& session, const Model& model,
                     const PlanWindows& windows) {
  const bool encodes = model.stack() == "encoder";
  const Model& encoder = encodes ? model : *model.sibling("encoder");
  if (encoder.spec().stream.audio || encoder.spec().stream.patches) {
    throw Error(ErrorKind::unsupported,
                {.place = model.name(), .problem = "takes no text: it cannot be calibrated"});
  }
  if (!arguments.given("calibration_target_file")) {
    throw Error(ErrorKind::usage, {.parameter = "calibration_target_file",
                                   .problem = "missing target text for " + verbatim(model.name())});
  }
  if (arguments.flag("lines")) {
    throw Error(ErrorKind::usage,
                {.parameter = "lines", .problem = "has no effect: pairs are already lines"});
  }
  if (windows.sample) {
    throw Error(ErrorKind::usage,
                {.parameter = "seed", .problem = "applies to windows of a text, not to pairs"});
  }
  const bool own = arguments.given("eval_file");
  if (own != arguments.given("eval_target_file")) {
    throw Error(ErrorKind::usage,
                {.parameter = own ? "eval_target_file" : "eval_file",
                 .problem = std::string("missing evaluation ") + (own ? "targets" : "sources")});
  }
  const Model decoder = model_that_predicts(model);
  const TargetTexts texts =
      target_lines(arguments, session, decoder,
                   {.sources = "calibration_file", .targets = "calibration_target_file"});
  TargetTexts held;
  if (own) {
    held = target_lines(arguments, session, decoder,
                        {.sources = "eval_file", .targets = "eval_target_file"});
  }
  const ScorePositions positions(arguments, session);
  refuse_mask_of_two_files(positions, own);
  ScoredTokens scored, held_scored;
  if (positions.given()) {
    scored = target_flags(texts.pairs, positions);
    if (own) held_scored = target_flags(held.pairs, positions);
  }
  const auto length = static_cast<std::size_t>(
      windows.length.value_or(std::min(context_of(session, model), kLongestWindow)));
  const auto cut = [&](TokenIds ids) {
    ids.resize(std::min(ids.size(), length));
    return ids;
  };
  const std::span<const TargetPair> pairs = texts.pairs;
  const std::size_t fitted = own ? pairs.size() : pairs.size() - (pairs.size() + 9) / 10;
  if (fitted == 0) {
    throw Error(ErrorKind::usage, {.parameter = "calibration_target_file",
                                   .problem = counted(texts.pairs.size(), "line") +
                                              ": too few for calibration and evaluation"});
  }
  PlanText out;
  out.copy_weights = plan_copy_bytes(session, model) > 0;
  std::int64_t read = 0;
  std::size_t longest = 0;
  const auto add = [&](const TargetPair& pair, std::vector<TokenIds>& sources,
                       std::vector<TokenIds>& targets) {
    sources.push_back(cut(pair.source));
    targets.push_back(cut(pair.target));
    longest = std::max({longest, sources.back().size(), targets.back().size()});
  };
  for (std::size_t at = 0; at < fitted; ++at) {
    const bool enough = windows.sequences ? std::ssize(out.calibration) >= *windows.sequences
                                          : read >= tokens_needed(model);
    if (enough) break;
    add(pairs[at], out.calibration_sources, out.calibration);
    if (positions.given()) out.calibration_scored.push_back(cut(scored[at]));
    read += std::ssize(encodes ? out.calibration_sources.back() : out.calibration.back());
  }
  for (const TargetPair& pair :
       own ? std::span<const TargetPair>(held.pairs) : pairs.subspan(fitted)) {
    add(pair, out.held_out_sources, out.held_out);
  }
  if (!own && positions.given()) {
    held_scored.assign(scored.begin() + static_cast<std::ptrdiff_t>(fitted), scored.end());
  }
  for (const TokenIds& flags : held_scored) out.held_out_scored.push_back(cut(flags));
  for (const auto* flags : {&out.calibration_scored, &out.held_out_scored}) {
    check_scored(*flags, /*writes=*/true);
  }
  if (own && held.pairs == texts.pairs) {
    out.notes.emplace_back(kHeldOutIsFitted);
  }
  if (read < widest_input(model)) out.notes.push_back(few_tokens(model, read));
  out.parameters = {{"source", texts.source},
                    {"sequences", std::ssize(out.calibration)},
                    {"length", static_cast<std::int64_t>(longest)},
                    {"seed", Value()},
                    {"eval_file", own ? Value(file_name_of(arguments.text("eval_file"))) : Value()},
                    {"eval_windows", std::ssize(out.held_out)}};
  positions.add_to(out.parameters);
  return out;
}

/// Lines, or consecutive windows surrounded by special tokens.
std::vector<TokenIds> plan_examples(const Arguments& arguments, const Session& session,
                                    const Model& model, const std::string& path,
                                    std::int64_t length, const MaskedModel& masked) {
  if (arguments.flag("lines")) {
    const std::string text = session.files->read_text(path, kTextLimitBytes);
    check_text(text, {.file = path});
    return line_examples(text, tokenizer_of(model, "calibration_token_file"), /*special=*/true);
  }
  const bool shard = arguments.given("calibration_token_file");
  std::vector<TokenIds> windows =
      all_windows(file_tokens(session, model, path, shard), length - masked.around());
  masked.put_around(windows);
  return windows;
}

/// Consecutive or random windows of a text. Without an evaluation file, windows of the last tenth
/// are for evaluation. Returns the number of calibration tokens.
std::int64_t add_windows(const Arguments& arguments, const Session& session, const Model& model,
                         const PlanWindows& windows, const TokenIds& tokens, std::int64_t length,
                         const MaskedModel& masked, PlanText& out) {
  const bool shard = arguments.given("calibration_token_file");
  const std::string path = arguments.text(shard ? "calibration_token_file" : "calibration_file");
  const std::int64_t around = masked.around();
  std::int64_t fitted = std::ssize(tokens);
  if (arguments.given("eval_file")) {
    const std::string held_out = arguments.text("eval_file");
    const TokenIds held = file_tokens(session, model, held_out, shard);
    out.held_out = all_windows(held, length - around);
    if (held == tokens) out.notes.emplace_back(kHeldOutIsFitted);
  } else {
    fitted = std::ssize(tokens) * 9 / 10;
    out.held_out =
        all_windows(std::span(tokens).subspan(static_cast<std::size_t>(fitted)), length - around);
  }
  const WindowRequest request{
      .sequences = windows.sequences.value_or((tokens_needed(model) + length - 1) / length),
      .length = std::min(length - around, std::max<std::int64_t>(1, fitted)),
      .sample = windows.sample,
      .or_fewer = !windows.sequences.has_value()};
  check_token_count(request.sequences, request.length);
  if (fitted < 2 || out.held_out.empty()) {
    throw Error(ErrorKind::usage,
                {.parameter = shard ? "calibration_token_file" : "calibration_file",
                 .problem = "a text of " + counted(tokens.size(), "token") +
                            " is too short for calibration and evaluation"});
  }
  out.calibration =
      cut_windows(std::span(tokens).first(static_cast<std::size_t>(fitted)), request, path);
  masked.put_around(out.calibration);
  masked.put_around(out.held_out);
  return std::ssize(out.calibration) * request.length;
}

}  // namespace

Parameters plan_text_parameters() {
  return {{.name = "calibration_file",
           .type = file,
           .group = OptionGroup::input,
           .help = "calibration text (UTF-8)",
           .metavariable = "FILE"},
          {.name = "calibration_token_file",
           .type = file,
           .group = OptionGroup::input,
           .help = "calibration shard of token ids (.bin: header, then uint16)",
           .metavariable = "FILE"},
          {.name = "eval_file",
           .type = file,
           .group = OptionGroup::input,
           .help = "evaluation text for all perplexities, in the same format",
           .metavariable = "FILE",
           .default_words = "the last tenth of the calibration text"},
          {.name = "calibration_target_file",
           .type = file,
           .group = OptionGroup::input,
           .help = "encoder-decoder models: targets, one per line of {calibration_file}",
           .metavariable = "FILE"},
          {.name = "eval_target_file",
           .type = file,
           .group = OptionGroup::input,
           .help = "encoder-decoder models: targets, one per line of {eval_file}",
           .metavariable = "FILE"},
          example_parameters().front(),
          example_parameters().back()};
}

std::vector<Exclusion> plan_text_exclusions() {
  return {{"calibration_token_file", {"calibration_file"}, "gives the input"},
          {"lines", {"calibration_token_file"}, "splits a text"},
          {"calibration_target_file",
           {"calibration_token_file"},
           "has a line for each of {calibration_file}"},
          {"eval_target_file", {"calibration_token_file"}, "has a line for each of {eval_file}"}};
}

std::vector<TokenIds> text_windows(const Session& session, const Model& model,
                                   const std::string& path) {
  const TokenIds tokens = file_tokens(session, model, path, /*shard=*/false);
  if (tokens.empty()) {
    throw Error(ErrorKind::usage, {.file = path, .problem = "is empty"});
  }
  const std::int64_t length =
      std::min({context_of(session, model), kLongestWindow, std::ssize(tokens)});
  const WindowRequest request{.sequences = (tokens_needed(model) + length - 1) / length,
                              .length = length,
                              .sample = std::nullopt,
                              .or_fewer = true};
  return cut_windows(tokens, request, path);
}

PlanText plan_text(const Arguments& arguments, const Session& session, const Model& model,
                   const PlanWindows& windows) {
  if (is_of_encoder_decoder(model)) return paired_text(arguments, session, model, windows);
  const bool shard = arguments.given("calibration_token_file");
  for (const char* name : {"calibration_target_file", "eval_target_file"}) {
    if (!arguments.given(name)) continue;
    throw Error(ErrorKind::usage, {.parameter = name,
                                   .problem = "requires an encoder-decoder model: " +
                                              verbatim(model.name()) + " has no source"});
  }
  if (!shard && !arguments.given("calibration_file")) {
    throw Error(ErrorKind::usage, {.parameter = "calibration_file",
                                   .problem = "missing calibration text",
                                   .hint = "pass {calibration_file} or {calibration_token_file}"});
  }
  const std::string path = arguments.text(shard ? "calibration_token_file" : "calibration_file");
  TokenIds tokens;  // empty if they are examples
  if (!asks_for_examples(arguments)) tokens = file_tokens(session, model, path, shard);
  const std::int64_t context = context_of(session, model);
  const std::int64_t length = windows.length.value_or(std::min(context, kLongestWindow));
  const MaskedModel masked = masked_model(model);
  const std::int64_t around = masked.around();
  const std::int64_t least = masked.mask ? std::max(kFewestMaskedTokens, 2 + around) : 2 + around;
  if (length > context || length < least) {
    throw Error(ErrorKind::usage,
                {.parameter = "length",
                 .problem = std::to_string(length) + " is not from " + std::to_string(least) +
                            " to the context of " + verbatim(model.name()) + ", " +
                            counted(context, "token")});
  }
  PlanText out;
  out.copy_weights = plan_copy_bytes(session, model) > 0;
  out.mask = masked.mask;
  const bool own = arguments.given("eval_file");
  const std::string held_out = arguments.text("eval_file");
  const ScorePositions positions(arguments, session);
  std::int64_t read = 0;
  if (asks_for_examples(arguments)) {
    const auto examples_of = [&](const std::string& file) {
      return plan_examples(arguments, session, model, file, length, masked);
    };
    PlanExamples examples{.fitted = examples_of(path),
                          .held_out = std::nullopt,
                          .place = path,
                          .held_out_source = held_out};
    if (own) examples.held_out = examples_of(held_out);
    if (examples.held_out == examples.fitted) out.notes.emplace_back(kHeldOutIsFitted);
    add_examples(examples, positions, windows, length, tokens_needed(model), out);
    for (const TokenIds& window : out.calibration) read += std::ssize(window);
  } else {
    read = add_windows(arguments, session, model, windows, tokens, length, masked, out);
  }
  if (read < widest_input(model)) out.notes.push_back(few_tokens(model, read));
  out.parameters = {{"source", file_name_of(path)},
                    {"sequences", std::ssize(out.calibration)},
                    {"length", length}};
  out.parameters
      .add("seed", windows.sample ? Value(static_cast<std::int64_t>(*windows.sample)) : Value())
      .add("eval_file", own ? Value(file_name_of(arguments.text("eval_file"))) : Value())
      .add("eval_windows", std::ssize(out.held_out));
  if (arguments.flag("lines")) out.parameters.add("lines", true);
  positions.add_to(out.parameters);
  return out;
}

}  // namespace attnscope
