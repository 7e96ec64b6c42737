// Whose doing a logit is: what each part of a model adds to it directly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/interventions/linear_unembedding.h"

namespace attnscope {

struct DirectPart {
  /// embedding, positions (with types), head, output_bias, mlp, norm_bias
  std::string_view component;
  std::optional<std::int64_t> layer, head;
  std::vector<double> logits;  // of each direction
};

struct Attribution {
  std::vector<DirectPart> parts;
  Matrix<float> states;  // of the last layer, after the norm, at `rows`
};
/// Of one text. `directions` (n, D) and `constants`: one for each of `rows`, which ascend. Each row
/// is divided by its own scale, so that the parts of a row sum to the logit that the direction
/// stands for. Throws as ForwardPass::run().
Attribution attribute(const ForwardPass& pass, const LinearHead& head, const TokenIds& ids,
                      std::span<const std::int64_t> rows, const Matrix<float>& directions,
                      std::span<const double> constants, const Compute& compute);

}  // namespace attnscope
