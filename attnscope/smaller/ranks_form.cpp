// Matrices of lower rank in the same shapes: what a rank costs, anywhere.
#include <algorithm>

#include "attnscope/core/error.h"
#include "attnscope/numerics/all_finite.h"
#include "attnscope/smaller/forms.h"

namespace attnscope {
std::vector<OutputDirections> directions_of_layer(const Model& model, std::int64_t layer,
                                                  const std::vector<Role>& roles,
                                                  const TextStatistics& text,
                                                  const Compute& compute) {
  // Eigenvectors are found on one thread: the matrices share the threads.
  std::vector<const SecondMoments*> moments;
  for (const Role role : roles) moments.push_back(&text.moments(layer, role));
  std::vector<OutputDirections> out(roles.size());
  const Compute alone{.kernels = compute.kernels, .stop = compute.stop};
  run_parts(compute, roles.size(), [&](std::size_t at) {
    const Matrix<double> weight = canonical_matrix(model, layer, roles[at]);
    const Matrix<double> mean = with_ridge(moments[at]->mean_second(), text.ridge);
    out[at] = output_directions(weight.view(), mean.view(), alone);
  });
  return out;
}

ChangedModel with_ranks(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute) {
  ChangedModel changed(model, text.dtype);
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    std::vector<Role> roles;
    std::vector<std::int64_t> ranks;
    for (auto at = choice.ranks.lower_bound({layer, Role{}});
         at != choice.ranks.end() && at->first.first == layer; ++at) {
      const auto shape = model.weight(layer, at->first.second).matrix;
      if (at->second < 0 || at->second > std::min(shape.rows, shape.cols)) {
        throw Error(ErrorKind::format,
                    std::to_string(layer) + "." + std::string(role_name(at->first.second)),
                    "a rank of " + std::to_string(at->second) + " is none of the matrix");
      }
      const Matrix<double> weight = canonical_matrix(model, layer, at->first.second);
      if (!all_finite(MatrixView<const double>(weight.view()))) {
        throw Error(ErrorKind::format,
                    std::to_string(layer) + "." + std::string(role_name(at->first.second)),
                    "holds NaN or infinity, and can only stay");
      }
      roles.push_back(at->first.second);
      ranks.push_back(at->second);
    }
    if (roles.empty()) return;
    const std::vector<OutputDirections> directions =
        directions_of_layer(model, layer, roles, text, compute);
    LayerMatrices own;
    for (std::size_t at = 0; at < roles.size(); ++at) {
      const Matrix<double> weight = canonical_matrix(model, layer, roles[at]);
      own.weights.emplace(roles[at], truncated(weight.view(), directions[at], ranks[at], compute));
    }
    changed.set_layer(layer, own);
  });
  return changed;
}

}  // namespace attnscope
