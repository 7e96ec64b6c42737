// Labels of texts from classifiers: of the whole text, of each token, or answers to questions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/features/predict/run.h"

namespace attnscope {

/// Whether the models are classifiers. Throws Error(usage) if only some of them are.
bool predict_labels(std::span<const Model> models);

/// Rows: the most likely labels of each text (sequence classifiers), the most likely labels of each
/// token (token classifiers), or the most likely answers (question answering). Throws as
/// ForwardPass does, and Error(format) if the files lack the head.
void run_label_prediction(std::span<const Model> models, const PredictRequest& request,
                          const Context& context, RowSink& sink);

}  // namespace attnscope
