// Image classification: the most likely labels, or which of several texts fits the image.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/features/predict/run.h"

namespace attnscope {

/// A text to compare with the image.
struct Caption {
  std::string text;
  TokenIds tokens;
};

/// The input of one model.
struct ImageQuestion {
  MediaInput image;
  const Model* texts = nullptr;  // the text stack; null: labels are requested
  std::vector<Caption> captions;
};

struct ImagePredictRequest {
  std::vector<ImageQuestion> questions;    // per model
  std::string source;                      // the image file
  std::int64_t top = 5;                    // labels
  const PromptWatcher* watcher = nullptr;  // for a single model; may be null
};

/// Rows: the most likely labels; or all texts, the most likely first. A model with vision and text
/// stacks scores a text by exp(logit_scale) · cosine(image, text). SigLIP adds logit_bias, and its
/// probabilities are independent for each text. Throws as ForwardPass does, and Error(unsupported)
/// if the model cannot compare texts.
void run_image_prediction(std::span<const Model> models, const ImagePredictRequest& request,
                          const Context& context, RowSink& sink);

}  // namespace attnscope
