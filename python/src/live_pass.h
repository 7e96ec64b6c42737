// A stack of an open model whose forward pass PyTorch runs.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/interventions/linear_unembedding.h"
#include "attnscope/model/model.h"
#include "attnscope/rows/record.h"
#include "python/src/bindings.h"
#include "python/src/open_model.h"

namespace attnscope::python {

class LivePass {
 public:
  LivePass(const OpenModel& open, std::size_t stack);
  LivePass(const LivePass&) = delete;
  LivePass& operator=(const LivePass&) = delete;

  /// Returns a record of the model's layers and of its last norm and LM head, as JSON.
  std::string description() const;

  /// Returns the direction of each token's logit, relative to the mean over the vocabulary. `mean`:
  /// the mean row of W_U over the vocabulary, (D,); empty: it is computed.
  nb::ndarray<nb::numpy, float> directions(const std::vector<std::int64_t>& tokens,
                                           std::vector<double> mean);

  const Model& model() const { return model_; }
  const ForwardPass& pass() const { return pass_; }

 private:
  Record layer_record(std::int64_t layer) const;
  Value norm_value(const OptionalNorm& norm, std::int64_t layer = 0) const;

  Model model_;
  ForwardPass pass_;
  std::optional<LinearHead> head_;
};

}  // namespace attnscope::python
