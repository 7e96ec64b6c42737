// Matrices of lower rank in the same shapes: what a rank costs, anywhere.
#include <algorithm>
#include <mutex>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "attnscope/numerics/vector_loops.h"

namespace attnscope {

void for_matrices(const Model& model, std::int64_t layer, std::span<const Role> roles,
                  const TextStatistics& text, const Compute& compute, const OfMatrix& of_matrix) {
  const auto work_bytes = [&](std::size_t at) {
    const TensorMatrix& matrix = model.weight(layer, roles[at]).matrix;
    return output_directions_bytes(matrix.rows, matrix.cols);
  };
  for (std::size_t first = 0; first < roles.size();) {
    std::uint64_t bytes = work_bytes(first);
    std::size_t end = first + 1;
    for (; end < roles.size(); ++end) {
      bytes += work_bytes(end);
      if (bytes > text.work_bytes) break;
    }
    std::vector<MeanMoments> moments;
    for (std::size_t at = first; at < end; ++at) {
      moments.push_back(text.moments(layer, roles[at]).mean(text.ridge));
    }
    // Eigenvectors are found on one thread: the matrices share the threads.
    const Compute alone{.kernels = compute.kernels, .stop = compute.stop};
    run_parts(compute, end - first, [&](std::size_t at) {
      compute.check_stop();
      of_matrix(first + at, canonical_matrix(model, layer, roles[first + at]), moments[at],
                end == first + 1 ? compute : alone);
    });
    first = end;
  }
}

std::string why_not_ranks(const Model& model, const Choice& choice) {
  for (const auto& [place, rank] : choice.ranks) {
    const std::string matrix =
        std::string(role_name(place.second)) + " in layer " + std::to_string(place.first);
    const bool is_layer = place.first >= 0 && place.first < model.dimensions().layers;
    if (!is_layer || model.weight(place.first, place.second).tensor == nullptr) {
      return verbatim(model.name()) + " has no " + matrix;
    }
    if (place.second == Role::query_up || place.second == Role::kv_up) {
      return matrix + " stays whole: it reads a latent";
    }
    const TensorMatrix& shape = model.weight(place.first, place.second).matrix;
    const std::int64_t most = RankOptions{.rows = shape.rows, .cols = shape.cols}.break_even();
    if (rank >= 1 && rank <= most) continue;
    return "a rank of " + std::to_string(rank) + " of " + matrix + " is not from 1 to " +
           std::to_string(most) + ", where factors stop to be smaller";
  }
  return "";
}

ChangedModel with_ranks(const Model& model, const Choice& choice, const TextStatistics& text,
                        const Compute& compute) {
  ChangedModel changed(model, text.dtype);
  for_layers(changed, text, compute, [&](std::int64_t layer) {
    std::vector<Role> roles;
    std::vector<std::int64_t> ranks;
    for (auto at = choice.ranks.lower_bound({layer, Role{}});
         at != choice.ranks.end() && at->first.first == layer; ++at) {
      roles.push_back(at->first.second);
      ranks.push_back(at->second);
    }
    const auto shares_tensor = [&](std::size_t at) {
      const auto same = [&](Role role) {
        return model.weight(layer, role).tensor == model.weight(layer, roles[at]).tensor;
      };
      return std::ranges::count_if(roles, same) > 1;
    };
    LayerMatrices together;  // parts of tensors, which are written whole
    std::mutex writing;
    for_matrices(
        model, layer, roles, text, compute,
        [&](std::size_t at, Matrix<double> weight, const MeanMoments& moments, const Compute& own) {
          if (!all_finite(std::as_const(weight).view())) {
            throw Error(ErrorKind::format,
                        std::to_string(layer) + "." + std::string(role_name(roles[at])),
                        "holds NaN or infinity, and can only stay");
          }
          const OutputDirections directions =
              output_directions(weight.view(), moments, own, ranks[at]);
          Matrix<double> low = truncated(std::move(weight), directions, ranks[at], own);
          const std::lock_guard lock(writing);
          if (shares_tensor(at)) {
            together.weights.emplace(roles[at], std::move(low));
            return;
          }
          LayerMatrices alone;
          alone.weights.emplace(roles[at], std::move(low));
          changed.set_layer(layer, alone);
        });
    changed.set_layer(layer, together);
  });
  return changed;
}

}  // namespace attnscope
