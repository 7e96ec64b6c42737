#include "attnscope/model/tied_weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace attnscope {
namespace {

/// The location of a matrix. It is equal for a matrix under several names or in several layers.
using StoredSlice = std::tuple<const CheckpointTensor*, std::int64_t, std::int64_t, std::int64_t,
                               std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

StoredSlice slice_of(const Weight& weight) {
  const TensorMatrix& matrix = weight.matrix;
  return {weight.tensor,     matrix.rows,       matrix.cols,       matrix.first,
          matrix.row_stride, matrix.col_stride, matrix.block_rows, matrix.block_stride};
}

/// Groups the layers by the matrix of a role that they share; the key is the first layer of a
/// group.
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

/// Returns the pairs of these names that the files store as two tensors of the same dtype and
/// shape.
void add_pairs(std::vector<TensorPair>& pairs, const Checkpoint& checkpoint,
               std::span<const std::pair<std::string, std::string>> names) {
  for (const auto& [copy_name, original_name] : names) {
    const CheckpointTensor* copy = checkpoint.find(copy_name);
    const CheckpointTensor* original = checkpoint.find(original_name);
    if (copy == nullptr || original == nullptr || copy == original) continue;
    if (copy->view.dtype != original->view.dtype || copy->view.shape != original->view.shape) {
      continue;
    }
    pairs.push_back({copy, original});
  }
}

std::vector<TensorPair> find_pairs(const Model& model, bool with_head) {
  const Architecture& architecture = model.spec().architecture;
  std::vector<TensorPair> pairs;
  add_pairs(pairs, model.checkpoint(), architecture.repeated);
  if (!with_head) return pairs;
  std::vector<std::pair<std::string, std::string>> heads;
  for (const std::string& head : architecture.head.weight) {
    heads.emplace_back(head, model.prefix() + architecture.embedding.tokens);
  }
  add_pairs(pairs, model.checkpoint(), heads);
  return pairs;
}

/// Different tensors usually differ early, so remote bytes are fetched in growing chunks.
bool same_bytes(const Checkpoint& checkpoint, std::span<const std::byte> one,
                std::span<const std::byte> other) {
  bool same = one.size() == other.size();
  std::size_t size = std::size_t{16} << 10;
  for (std::size_t begin = 0; same && begin < one.size(); begin += size, size *= 8) {
    const std::size_t count = std::min(size, one.size() - begin);
    const std::array parts = {one.subspan(begin, count), other.subspan(begin, count)};
    checkpoint.need(parts);
    same = std::equal(parts[0].begin(), parts[0].end(), parts[1].begin());
  }
  return same;
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

std::vector<TensorPair> possible_copies(const Model& model) {
  return find_pairs(model, /*with_head=*/true);
}

std::vector<TensorPair> declared_copies(const Model& model) {
  return find_pairs(model, /*with_head=*/model.spec().tied);
}

bool has_same_bytes(const Model& model, const TensorPair& pair) {
  const TensorView &copy = pair.copy->view, &original = pair.original->view;
  const auto copied = all_bytes(copy), own = all_bytes(original);
  const bool same = copy.strides == original.strides &&
                    copy.storage_name() == original.storage_name() &&
                    std::equal(copied.begin(), copied.end(), own.begin(), own.end(),
                               [&](std::span<const std::byte> a, std::span<const std::byte> b) {
                                 return same_bytes(model.checkpoint(), a, b);
                               });
  model.checkpoint().check_intact(*pair.copy);
  model.checkpoint().check_intact(*pair.original);
  return same;
}

}  // namespace attnscope
