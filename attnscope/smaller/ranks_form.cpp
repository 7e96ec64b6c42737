// Matrices of lower rank in the same shapes: what a rank costs, anywhere.
#include "attnscope/core/error.h"
#include "attnscope/smaller/forms.h"
#include "attnscope/smaller/truncation.h"

namespace attnscope {

ChangedModel with_ranks(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute) {
  ChangedModel changed(model);
  std::map<std::int64_t, LayerMatrices> layers;
  for (const auto& [place, rank] : choice.ranks) {
    compute.check_stop();
    const auto& [layer, role] = place;
    const Matrix<double> weight = canonical_matrix(model, layer, role);
    if (rank < 0 || rank > std::min(weight.rows(), weight.cols())) {
      throw Error(ErrorKind::format, std::to_string(layer) + "." + std::string(role_name(role)),
                  "a rank of " + std::to_string(rank) + " is none of the matrix");
    }
    const Matrix<double> moments = with_ridge(text.moments(layer, role).mean_second(), text.ridge);
    layers[layer].weights.emplace(
        role, truncated(weight.view(), output_directions(weight.view(), moments.view(), compute),
                        rank, compute));
  }
  for (const auto& [layer, matrices] : layers) changed.set_layer(layer, matrices);
  return changed;
}

}  // namespace attnscope
