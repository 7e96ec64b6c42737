#include "attnscope/features/common/options/label_option.h"

#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/example_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/forward/label_probabilities.h"

namespace attnscope {

Parameter label_parameter(std::string help) {
  return {.name = "label",
          .type = ParameterType::text,
          .help = std::move(help),
          .metavariable = "LABEL"};
}

std::vector<Exclusion> label_exclusions(std::vector<std::string> others) {
  return {
      {"label", std::move(others), "analyzes the logit of a label"},
      {"label", {"token_file", "sequences", "length", "seed", "consecutive"}, "runs whole texts"}};
}

void check_labels_texts(std::span<const Model> models, const std::string& parameter) {
  for (const Model& model : models) {
    const auto& labels = model.spec().labels;
    if (labels && labels->task == LabelTask::sequence) continue;
    std::string kind = "not a classifier";
    if (labels) {
      kind = labels->task == LabelTask::token ? "a token classifier" : "a question-answering model";
    }
    throw Error(ErrorKind::usage, {.parameter = parameter,
                                   .problem = "requires a sequence classifier, but " +
                                              verbatim(model.name()) + " is " + kind});
  }
}

namespace {

/// The texts of one model. Windows are not used: the head of a classifier reads the special tokens
/// of a whole text.
TokenSequences texts_of(const Arguments& arguments, const Session& session, const Model& model) {
  if (arguments.given("tokens")) {
    return whole_texts(encoded_texts(arguments, session, model, nullptr), "tokens");
  }
  const Tokenizer tokenizer = tokenizer_of(model);
  const bool lines = arguments.flag("lines");
  std::vector<TokenIds> texts = lines ? line_examples(text_to_encode(arguments, session), tokenizer,
                                                      adds_special_tokens(arguments))
                                      : encoded_texts(arguments, session, model, &tokenizer);
  const std::string source = source_of_text(arguments);
  if (texts.empty()) throw Error(ErrorKind::usage, {.file = source, .problem = "has no tokens"});
  const auto context = model.dimensions().context;
  for (std::size_t at = 0; at < texts.size() && context && !arguments.given("text"); ++at) {
    if (std::ssize(texts[at]) <= *context) continue;
    throw Error(
        ErrorKind::usage,
        {.file = source,
         .problem = (lines ? "non-empty line " + std::to_string(at + 1) : "the text") + " has " +
                    counted(texts[at].size(), "token") + ", more than the context of " +
                    verbatim(model.name()) + ", " + std::to_string(*context),
         .hint = lines ? "shorten the line" : "pass {lines} to run each line as a text"});
  }
  std::string note = unknown_note(model, tokenizer, texts);
  TokenSequences out = whole_texts(std::move(texts), source);
  out.note = std::move(note);
  if (lines) out.parameters.add("lines", true);
  return out;
}

}  // namespace

std::vector<std::vector<TokenIds>> label_texts(const Arguments& arguments, const Session& session,
                                               const std::vector<Model>& models, Record& parameters,
                                               RowSink& sink) {
  check_labels_texts(models, "label");
  std::vector<std::vector<TokenIds>> texts;
  for (const Model& model : models) {
    TokenSequences found = texts_of(arguments, session, model);
    if (!found.note.empty()) sink.add_note(std::move(found.note));
    parameters = std::move(found.parameters);
    texts.push_back(std::move(found.of_model));
  }
  return texts;
}

std::int64_t label_named(const ForwardPass& pass, const std::string& text,
                         const std::string& parameter) {
  return label_of(*pass.model().spec().labels, pass.label_head().weight->weights.outputs(), text,
                  parameter);
}

}  // namespace attnscope
