#include "attnscope/features/common/options/label_option.h"

#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/label_probabilities.h"

namespace attnscope {

Parameter label_parameter(std::string help) {
  return {.name = "label",
          .type = ParameterType::text,
          .help = std::move(help),
          .metavariable = "LABEL"};
}

Exclusion label_exclusion(std::vector<std::string> others) {
  return {"label", std::move(others), "analyzes the logit of a label"};
}

void check_labels_texts(std::span<const Model> models, const std::string& parameter) {
  for (const Model& model : models) {
    const auto& labels = model.spec().labels;
    if (labels && labels->rules.front().task == LabelTask::sequence) continue;
    throw Error(ErrorKind::usage,
                {.parameter = parameter,
                 .problem = "requires a sequence classifier; " + verbatim(model.name()) +
                            (labels ? " labels tokens" : " has no labels")});
  }
}

std::vector<std::vector<TokenIds>> label_texts(const Arguments& arguments, const Session& session,
                                               const std::vector<Model>& models, Record& parameters,
                                               RowSink& sink) {
  check_labels_texts(models, "label");
  std::vector<std::vector<TokenIds>> texts;
  for (const Model& model : models) {
    TokenSequences found = token_sequences(arguments, session, model, kScoredWindows);
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
