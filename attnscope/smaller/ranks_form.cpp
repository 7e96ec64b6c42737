// Matrices of lower rank in the same shapes: what a rank costs, anywhere.
#include <algorithm>

#include "attnscope/core/error.h"
#include "attnscope/smaller/forms.h"
#include "attnscope/smaller/truncation.h"

namespace attnscope {
namespace {

Matrix<double> lowered(const Model& model, std::int64_t layer, Role role, std::int64_t rank,
                       const TextStatistics& text, const Compute& compute) {
  compute.check_stop();
  const Matrix<double> weight = canonical_matrix(model, layer, role);
  if (rank < 0 || rank > std::min(weight.rows(), weight.cols())) {
    throw Error(ErrorKind::format, std::to_string(layer) + "." + std::string(role_name(role)),
                "a rank of " + std::to_string(rank) + " is none of the matrix");
  }
  const Matrix<double> moments = with_ridge(text.moments(layer, role).mean_second(), text.ridge);
  return truncated(weight.view(), output_directions(weight.view(), moments.view(), compute), rank,
                   compute);
}

}  // namespace

ChangedModel with_ranks(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute) {
  ChangedModel changed(model);
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    LayerMatrices own;
    for (auto at = choice.ranks.lower_bound({layer, Role{}});
         at != choice.ranks.end() && at->first.first == layer; ++at) {
      own.weights.emplace(at->first.second,
                          lowered(model, layer, at->first.second, at->second, text, compute));
    }
    if (!own.weights.empty()) changed.set_layer(layer, own);
  });
  return changed;
}

}  // namespace attnscope
