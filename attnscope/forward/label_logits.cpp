// Logits of classifiers. Reference: transformers, ForSequenceClassification,
// ForTokenClassification and ForQuestionAnswering of each family.
#include <algorithm>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/scored_positions.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {
namespace {

/// Returns the row of the last token that is not padding; 0 if all are.
std::int64_t last_text_row(const TokenIds& tokens, std::optional<std::int64_t> padding) {
  const auto found = std::find_if(tokens.rbegin(), tokens.rend(),
                                  [&](std::int64_t id) { return !padding || id != *padding; });
  return found == tokens.rend() ? 0 : tokens.rend() - found - 1;
}

/// Returns the rows that the head reads. `row`: see ForwardPass::label_row().
Matrix<float> read_rows(const LabelHeadWeights& head, MatrixView<const float> states,
                        std::int64_t row) {
  if (head.task != LabelTask::sequence) return copied(states);
  if (head.pooling == LabelPooling::mean) return mean_row(states);
  return picked_rows(states, {&row, 1});
}

}  // namespace

const LabelHeadWeights& ForwardPass::label_head() const {
  if (weights_.labels) return *weights_.labels;
  const std::string problem = weights_.no_labels.empty() ? "is not a classifier: it has no labels"
                                                         : verbatim(weights_.no_labels);
  throw Error(ErrorKind::format,
              {.file = model_.checkpoint().main_file().string(), .problem = problem});
}

std::int64_t ForwardPass::label_row(const TokenIds& tokens) const {
  if (label_head().pooling != LabelPooling::last) return 0;
  return last_text_row(tokens, model_.spec().labels->padding_token);
}

Matrix<float> ForwardPass::label_logits(MatrixView<const float> states, const TokenIds& tokens,
                                        const Compute& compute) const {
  const LabelHeadWeights& head = label_head();
  Matrix<float> rows = read_rows(head, states, label_row(tokens));
  if (head.dense != nullptr) {
    Matrix<float> out(rows.rows(), head.dense->weights.outputs());
    apply(*head.dense, rows.view(), {.activation = head.activation}, out.view(), compute);
    rows = std::move(out);
  }
  if (head.norm) apply_norm(*head.norm, rows.view(), rows.view(), compute);
  Matrix<float> logits(rows.rows(), head.weight->weights.outputs());
  apply(*head.weight, rows.view(), {}, logits.view(), compute);
  if (all_finite(MatrixView<const float>(logits.view()))) return logits;
  throw Error(ErrorKind::numerical, {.file = model_.checkpoint().main_file().string(),
                                     .problem = "the head outputs NaN or infinity"});
}

}  // namespace attnscope
