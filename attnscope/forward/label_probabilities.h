// Labels of a classifier: names, probabilities and answers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/matrix_view.h"
#include "attnscope/base/model_inputs.h"
#include "attnscope/model/model_spec.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// How label logits become probabilities.
enum class LabelProbability {
  softmax,  // over all labels: exactly one applies
  sigmoid,  // of each label: any number apply
  none,     // regression: logits are values
};

/// Returns what `problem_type` says. Without it, a single label has a sigmoid and several labels a
/// softmax, like the text-classification pipeline of transformers.
LabelProbability label_probability(const LabelHeadSpec& spec, std::int64_t labels);

/// Returns the probabilities in float64; nothing for regression.
std::vector<std::optional<double>> label_probabilities(LabelProbability kind,
                                                       std::span<const float> logits,
                                                       const Compute& compute);

/// Returns the most likely label. Empty unless exactly one label applies: regression, multi-label
/// classification and a single label have none.
std::optional<std::int64_t> top_label(LabelProbability kind, std::span<const float> logits);

/// Returns the name of a label: that of config.json, otherwise LABEL_0, …
std::string label_name(const LabelHeadSpec& spec, std::int64_t label);

/// Returns the label with this name or number. Throws Error(usage) about `parameter` that lists the
/// labels.
std::int64_t label_of(const LabelHeadSpec& spec, std::int64_t labels, const std::string& text,
                      const std::string& parameter);

/// An answer of a question-answering model.
struct AnswerSpan {
  std::int64_t first = 0, last = 0;  // positions of its tokens
  double logit = 0;                  // logit of the first token + logit of the last token
  double probability = 0;            // product of both probabilities
};

/// Answers have at most this many tokens.
inline constexpr std::int64_t kLongestAnswer = 15;

/// Returns the `count` most likely answers. For a pair, they lie in text B, and the softmaxes are
/// over its tokens; for a single text, over all tokens. `logits`: (tokens, 2), first and last
/// token.
std::vector<AnswerSpan> most_likely_answers(MatrixView<const float> logits, const TokenIds& ids,
                                            std::int64_t count, const Compute& compute);

}  // namespace attnscope
