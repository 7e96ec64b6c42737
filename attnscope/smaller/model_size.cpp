#include "attnscope/smaller/model_size.h"

#include <algorithm>
#include <set>

#include "attnscope/model/inventory.h"
#include "attnscope/smaller/forms.h"

namespace attnscope {
namespace {

std::int64_t elements(const CheckpointTensor* tensor) {
  return tensor == nullptr ? 0 : tensor->view.element_count();
}

/// Parameters of one unit of what a form cuts, in all layers.
std::int64_t per_unit(const Model& model, Form form) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  std::int64_t sum = 0;
  const auto of_rows = [&](std::int64_t layer, Role role) {
    const Weight& weight = model.weight(layer, role);
    if (weight.tensor == nullptr) return std::int64_t{0};
    return weight.matrix.cols + (weight.bias == nullptr ? 0 : 1);
  };
  const auto of_columns = [&](std::int64_t layer, Role role) {
    const Weight& weight = model.weight(layer, role);
    return weight.tensor == nullptr ? std::int64_t{0} : weight.matrix.rows;
  };
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    const std::int64_t query = of_rows(layer, Role::query), key = of_rows(layer, Role::key),
                       value = of_rows(layer, Role::value),
                       output = of_columns(layer, Role::output);
    switch (form) {
      case Form::width:
        sum +=
            of_rows(layer, Role::gate) + of_rows(layer, Role::up) + of_columns(layer, Role::down);
        break;
      case Form::head_width:
        sum += heads.heads * (query + output) + heads.kv_heads * (key + value);
        break;
      case Form::experts: return parameters_of_expert(model);
      case Form::kv_heads: sum += heads.head_dim * key + heads.value_dim * value; break;
      case Form::heads:
        sum += heads.head_dim * query + heads.value_dim * output;
        if (heads.group_size() == 1) sum += heads.head_dim * key + heads.value_dim * value;
        break;
      case Form::hidden:  // each matrix has one side on the stream, which norms have too
        for (const Role role : stored_projections(model, layer)) {
          const Weight& weight = model.weight(layer, role);
          const bool writes = role == Role::output || role == Role::down;
          sum +=
              writes ? weight.matrix.cols + (weight.bias == nullptr ? 0 : 1) : weight.matrix.rows;
        }
        sum += 2;
        break;
      default: break;
    }
  }
  return sum;
}

std::int64_t after_hidden(const Model& model, std::int64_t width, std::int64_t before) {
  const CheckpointTensor* head = model.checkpoint().find_first(model.spec().head.rule.weight);
  const std::int64_t vocabulary =
      elements(model.checkpoint().find(model.prefix() + model.spec().stream.embedding.tokens)) /
      model.dimensions().width;
  const bool tied = model.spec().tied || head == nullptr;
  const std::int64_t per = per_unit(model, Form::hidden) + 1 + (tied ? 1 : 2) * vocabulary;
  return before - per * (model.dimensions().width - width) + (tied ? vocabulary * width : 0);
}

std::int64_t of_layers(const Model& model, const std::vector<std::int64_t>& layers) {
  std::int64_t sum = 0;
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    const std::int64_t layer = layer_of_tensor(model, tensor.name);
    const bool real = dtype_info(tensor.view.dtype).kind == DTypeClass::real;
    if (real && std::find(layers.begin(), layers.end(), layer) != layers.end()) {
      sum += elements(&tensor);
    }
  }
  return sum;
}

std::int64_t attention_elements(const Model& model) {
  std::int64_t sum = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : {Role::query, Role::key, Role::value}) {
      sum += elements(model.weight(layer, role).tensor) + elements(model.weight(layer, role).bias);
    }
    sum += elements(model.weight(layer, Role::output).bias);
  }
  return sum;
}

std::int64_t latent_elements(const Model& model, const Choice& choice) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const std::int64_t width = dimensions.width, rank = choice.joint + 1;
  const std::int64_t content = choice.exact ? 0 : heads.head_dim;
  const std::int64_t query = heads.heads * (content + choice.size);
  const bool biased = model.weight(0, Role::query).bias != nullptr;
  const std::int64_t of_queries =
      biased ? (width + 1) * width + 2 * (width + 1) + query * (width + 1) : query * width;
  const std::int64_t of_keys = (rank + choice.size) * (width + 1) + rank;
  const std::int64_t up = heads.heads * (content + heads.value_dim) * rank;
  return dimensions.layers * (of_queries + of_keys + up + width);
}

}  // namespace

ModelSize size_of(const Model& model) {
  const ModelFacts facts = model_facts(model);
  ModelSize out{.parameters = facts.parameters,
                .kv_cache_bytes_per_token = facts.kv_cache_bytes_per_token.value_or(0)};
  for (const char* stack : {"encoder", "decoder", "cross"}) {
    const Model* other = model.stack() == stack ? nullptr : model.sibling(stack);
    if (other == nullptr) continue;
    const ModelFacts beside = model_facts(*other);
    out.parameters += beside.parameters;
    if (other->stack() == "decoder") {
      out.kv_cache_bytes_per_token = beside.kv_cache_bytes_per_token.value_or(0);
    }
  }
  const Dimensions& dimensions = model.dimensions();
  double products = 0;
  std::set<const CheckpointTensor*> seen;
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    for (const Role role : stored_projections(model, layer)) {
      const TensorMatrix& matrix = model.weight(layer, role).matrix;
      products += static_cast<double>(matrix.rows * matrix.cols);
    }
    const HeadShape& heads = model.dimensions(layer).heads;
    const double half = static_cast<double>(dimensions.context.value_or(2)) / 2;
    out.flops_per_token += 2 * half * static_cast<double>(heads.heads) *
                           static_cast<double>(heads.head_dim + heads.value_dim);
  }
  if (model.spec().causal && dimensions.vocabulary) {
    products += static_cast<double>(*dimensions.vocabulary * dimensions.width);
  }
  out.flops_per_token += 2 * products;
  return out;
}

ModelSize size_after(const Model& model, const Choice& choice) {
  ModelSize out = size_of(model);
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const auto cut = [&](std::int64_t whole) {
    out.parameters -= per_unit(model, choice.form) * (whole - choice.size);
  };
  const auto cut_cache = [&](std::int64_t whole) {
    out.kv_cache_bytes_per_token = out.kv_cache_bytes_per_token * choice.size / whole;
  };
  switch (choice.form) {
    case Form::layers: {
      std::vector<std::int64_t> gone;
      for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
        const auto& kept = choice.kept.front();
        if (std::find(kept.begin(), kept.end(), layer) == kept.end()) gone.push_back(layer);
      }
      out.parameters -= of_layers(model, gone);
      if (model.stack() != "encoder") cut_cache(dimensions.layers);
      break;
    }
    case Form::width:
      cut(dimensions.mlp_width);
      if (const Model* other = stack_of_same_width(model)) {
        out.parameters -= per_unit(*other, choice.form) * (dimensions.mlp_width - choice.size);
      }
      break;
    case Form::experts: cut(dimensions.experts); break;
    case Form::hidden: out.parameters = after_hidden(model, choice.size, out.parameters); break;
    case Form::head_width:
      cut(heads.head_dim);
      cut_cache(heads.head_dim);
      break;
    case Form::kv_heads:
      cut(heads.kv_heads);
      cut_cache(heads.kv_heads);
      break;
    case Form::heads:
      cut(heads.heads);
      if (heads.group_size() == 1) cut_cache(heads.heads);
      break;
    case Form::latent:
      out.parameters += latent_elements(model, choice) - attention_elements(model);
      out.kv_cache_bytes_per_token = 2 * dimensions.layers * (choice.size + choice.joint + 1);
      break;
    case Form::ranks:
      for (const auto& [place, rank] : choice.ranks) {
        const TensorMatrix& matrix = model.weight(place.first, place.second).matrix;
        out.parameters += rank * (matrix.rows + matrix.cols) - matrix.rows * matrix.cols;
      }
      break;
  }
  return out;
}

}  // namespace attnscope
