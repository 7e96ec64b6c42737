// Direct logit attribution: what each component adds to a logit directly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/engine/context.h"
#include "attnscope/interventions/linear_unembedding.h"

namespace attnscope {

struct DirectPart {
  /// embedding, positions (with types), head, output_bias, mlp, norm_bias
  std::string_view component;
  std::optional<std::int64_t> layer, head;
  std::vector<double> logits;  // per direction
  /// For heads in chats: the part that is read from tokens of each of kMessageRoles, (roles, n).
  /// Empty: unknown roles, or the parts do not sum to `logits`.
  std::vector<std::vector<double>> of_roles = {};
};

struct Attribution {
  std::vector<DirectPart> parts;
  Matrix<float> states;  // of the last layer, after the norm, at `rows`
};
/// Attributes the logits of one text. `directions` (n, D) and `constants` have one entry for each
/// of `rows`, which are in ascending order. Each row is divided by its final-norm scale, so that
/// the components sum to the logit of the direction. `watchers`: of a context, whose edits are
/// applied. Throws as ForwardPass::run() and RunEdits, and Error(unsupported) for edits of the
/// residual stream or of what is added to it, because these changes belong to no component.
Attribution attribute(const ForwardPass& pass, const LinearHead& head, const TokenIds& ids,
                      std::span<const std::int64_t> rows, const Matrix<float>& directions,
                      std::span<const double> constants, std::span<BatchWatcher* const> watchers,
                      const Compute& compute);

}  // namespace attnscope
