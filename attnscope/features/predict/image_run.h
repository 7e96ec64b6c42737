// What models say of an image: the likeliest of their labels, or which of several texts fits it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/features/predict/run.h"

namespace attnscope {

/// A text that is compared with the image.
struct Caption {
  std::string text;
  TokenIds tokens;
};

/// What one model is asked.
struct ImageQuestion {
  MediaInput image;
  const Model* texts = nullptr;  // the tower that reads texts; null: labels are asked for
  std::vector<Caption> captions;
};

struct ImagePredictRequest {
  std::vector<ImageQuestion> questions;    // of each model
  std::string source;                      // the image's file
  std::int64_t top = 5;                    // labels
  const PromptWatcher* watcher = nullptr;  // of one model; may be null
};

/// Rows: the likeliest labels; or all texts, the likeliest first. A model of two towers compares
/// what both make of image and text, each divided by its length: exp(logit_scale) times their
/// product, plus logit_bias where there is one (SigLIP, whose probabilities are then of each text
/// alone). Throws as ForwardPass does, Error(unsupported) for texts that a model cannot compare.
void run_image_prediction(std::span<const Model> models, const ImagePredictRequest& request,
                          const Context& context, RowSink& sink);

}  // namespace attnscope
