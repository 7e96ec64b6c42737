#include "attnscope/model/tied_weights.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace attnscope {
namespace {

/// Where a matrix lies: equal for what is one matrix under several names or in several layers.
using StoredSlice = std::tuple<const CheckpointTensor*, std::int64_t, std::int64_t, std::int64_t,
                               std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

StoredSlice slice_of(const Weight& weight) {
  const TensorMatrix& matrix = weight.matrix;
  return {weight.tensor,     matrix.rows,       matrix.cols,       matrix.first,
          matrix.row_stride, matrix.col_stride, matrix.block_rows, matrix.block_stride};
}

/// The layers that share each matrix of a role, by the first of them.
std::vector<std::vector<std::int64_t>> layers_that_share(const Model& model, Role role) {
  std::map<std::vector<StoredSlice>, std::vector<std::int64_t>> layers;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    if (!model.has(role, layer)) continue;
    std::vector<StoredSlice> slices;
    for (const Role part : model.parts_of(role)) {
      slices.push_back(slice_of(model.weight(layer, part)));
    }
    layers[slices].push_back(layer);
  }
  std::vector<std::vector<std::int64_t>> shared;
  for (auto& [slices, of_matrix] : layers) {
    if (of_matrix.size() > 1) shared.push_back(std::move(of_matrix));
  }
  std::sort(shared.begin(), shared.end());
  return shared;
}

}  // namespace

std::vector<SharedWeights> shared_weights(const Model& model) {
  std::vector<SharedWeights> all;
  for (std::size_t number = 0; number < kRoleNames.size(); ++number) {
    const auto role = static_cast<Role>(number);
    for (std::vector<std::int64_t>& layers : layers_that_share(model, role)) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const SharedWeights& shared) {
        return shared.layers == layers;
      });
      if (found == all.end()) {
        all.push_back({.roles = {role}, .layers = std::move(layers)});
      } else {
        found->roles.push_back(role);
      }
    }
  }
  return all;
}

}  // namespace attnscope
