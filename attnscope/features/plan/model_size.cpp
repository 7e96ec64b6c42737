#include "attnscope/features/plan/model_size.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/model/summary.h"
#include "attnscope/model/tensor_roles.h"

namespace attnscope {
namespace {

constexpr std::string_view kBuffer = "buffer";  // a role in the inventory

}  // namespace

double flops_of_attention(const Model& model, std::int64_t heads, std::int64_t elements) {
  const double half = static_cast<double>(model.dimensions().context.value_or(2)) / 2;
  return 2 * half * static_cast<double>(heads * elements);
}

double flops_of_attention(const Model& model, std::int64_t layer) {
  const Dimensions& dimensions = model.dimensions(layer);
  if (!model.dimensions().attends(layer)) return 0;
  const HeadShape& heads = dimensions.heads;
  std::int64_t elements = heads.head_dim + heads.value_dim;
  if (dimensions.mla) {
    elements +=
        dimensions.mla->key_value * (heads.head_dim - heads.shared_key_dim + heads.value_dim);
  }
  return flops_of_attention(model, heads.heads, elements);
}

std::vector<double> products_of(const Model& model) {
  const Inventory inventory = take_inventory(model, declared_copies(model));
  const Dimensions& dimensions = model.dimensions();
  std::vector<double> out(static_cast<std::size_t>(dimensions.layers) + 1);
  const auto& experts = inventory.summary.experts;
  for (const TensorSummary& tensor : inventory.tensors) {
    const bool counts = tensor.layer && !tensor.tied_to && tensor.role != kBuffer;
    const auto axes = std::ranges::count_if(tensor.shape, [](auto extent) { return extent > 1; });
    const bool of_one_expert = tensor.role == role_name(Role::router);
    if (!counts || (axes < 2 && !of_one_expert))
      continue;  // skips vectors, some of which are stored as one row
    double products = 1;
    for (const std::int64_t extent : tensor.shape) products *= static_cast<double>(extent);
    if (tensor.role.starts_with(kOfExpert) && experts) {
      products *= static_cast<double>(experts->chosen.value_or(experts->count)) /
                  static_cast<double>(experts->count);
    }
    out[static_cast<std::size_t>(*tensor.layer)] += products;
  }
  if (model.spec().causal && dimensions.vocabulary) {
    out.back() = static_cast<double>(*dimensions.vocabulary * dimensions.width);
  }
  return out;
}

ModelSize size_of(const Model& model) {
  const ModelSummary facts = summarize(model);
  ModelSize out{.parameters = facts.parameters,
                .kv_cache_bytes_per_token = facts.kv_cache_bytes_per_token.value_or(0)};
  for (const char* stack : {"encoder", "decoder", "cross"}) {
    const Model* other = model.stack() == stack ? nullptr : model.sibling(stack);
    if (other == nullptr) continue;
    const ModelSummary beside = summarize(*other);
    out.parameters += beside.parameters;
    if (other->stack() == "decoder") {
      out.kv_cache_bytes_per_token = beside.kv_cache_bytes_per_token.value_or(0);
    }
  }
  for (const double products : products_of(model)) out.flops_per_token += 2 * products;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    out.flops_per_token += flops_of_attention(model, layer);
  }
  return out;
}

std::int64_t parameters_of_layer(const Model& model, std::int64_t layer) {
  std::int64_t sum = 0;
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    if (layer_of_tensor(model, tensor.name) != layer) continue;
    if (dtype_info(tensor.view.dtype).kind == DTypeClass::real) sum += tensor.view.element_count();
  }
  return sum;
}

std::int64_t removable_parameters(const Model& model, const std::vector<std::int64_t>& layers) {
  std::set<std::string> no_parameters;  // buffers and repeated tensors
  for (const TensorSummary& tensor : take_inventory(model, declared_copies(model)).tensors) {
    if (tensor.role == kBuffer || tensor.tied_to) no_parameters.insert(tensor.name);
  }
  std::int64_t sum = 0;
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    const std::int64_t layer = layer_of_tensor(model, tensor.name);
    const bool real = dtype_info(tensor.view.dtype).kind == DTypeClass::real;
    const bool goes = std::find(layers.begin(), layers.end(), layer) != layers.end();
    if (real && goes && !no_parameters.contains(tensor.name)) sum += tensor.view.element_count();
  }
  return sum;
}

}  // namespace attnscope
