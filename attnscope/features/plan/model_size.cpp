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

constexpr std::string_view kBuffer = "buffer";  // a role of the inventory

std::int64_t elements(const CheckpointTensor* tensor) {
  return tensor == nullptr ? 0 : tensor->view.element_count();
}

/// Products are the elements of matrices alone: a token is multiplied by each once.
enum class Counted { parameters, products };

/// What one unit of what a form cuts has, in all layers.
std::int64_t per_unit(const Model& model, Form form, Counted counted = Counted::parameters) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const bool all = counted == Counted::parameters;
  std::int64_t sum = 0;
  const auto bias_of = [&](const Weight& weight) { return all && weight.bias != nullptr ? 1 : 0; };
  const auto of_rows = [&](std::int64_t layer, Role role) {
    const Weight& weight = model.weight(layer, role);
    return weight.tensor == nullptr ? std::int64_t{0} : weight.matrix.cols + bias_of(weight);
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
      case Form::experts:  // a token passes as many as before, of fewer that its router weighs
        if (all) return parameters_of_expert(model);
        sum += of_rows(layer, Role::router);
        break;
      case Form::kv_heads: sum += heads.head_dim * key + heads.value_dim * value; break;
      case Form::heads:
        sum += heads.head_dim * query + heads.value_dim * output;
        if (heads.group_size() == 1) sum += heads.head_dim * key + heads.value_dim * value;
        break;
      case Form::hidden:  // each matrix has one side on the stream, which norms have too
        for (const Role role : stored_projections(model, layer)) {
          const Weight& weight = model.weight(layer, role);
          const bool writes = role == Role::output || role == Role::down;
          sum += writes ? weight.matrix.cols + bias_of(weight) : weight.matrix.rows;
        }
        if (all) sum += 2;
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
  std::set<std::string> beside;  // buffers and repeated tensors, which are no parameters
  for (const TensorFacts& tensor : take_inventory(model, declared_copies(model)).tensors) {
    if (tensor.role == kBuffer || tensor.tied_to) beside.insert(tensor.name);
  }
  std::int64_t sum = 0;
  for (const CheckpointTensor& tensor : model.checkpoint().tensors()) {
    const std::int64_t layer = layer_of_tensor(model, tensor.name);
    const bool real = dtype_info(tensor.view.dtype).kind == DTypeClass::real;
    const bool goes = std::find(layers.begin(), layers.end(), layer) != layers.end();
    if (real && goes && !beside.contains(tensor.name)) sum += elements(&tensor);
  }
  return sum;
}

/// What a latent stands in the place of: queries, keys and values of all layers, and biases.
std::int64_t attention_elements(const Model& model, Counted counted) {
  const bool all = counted == Counted::parameters;
  std::int64_t sum = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : {Role::query, Role::key, Role::value}) {
      sum += elements(model.weight(layer, role).tensor);
      if (all) sum += elements(model.weight(layer, role).bias);
    }
    if (all) sum += elements(model.weight(layer, Role::output).bias);
  }
  return sum;
}

/// Elements of a head's query that are not rotary, in a latent.
std::int64_t content_of(const Model& model, const Choice& choice) {
  return choice.exact ? 0 : model.dimensions().heads.head_dim;
}

std::int64_t latent_elements(const Model& model, const Choice& choice, Counted counted) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const std::int64_t width = dimensions.width, rank = choice.joint + 1;
  const std::int64_t content = content_of(model, choice);
  const std::int64_t query = heads.heads * (content + choice.size);
  const bool biased = model.weight(0, Role::query).bias != nullptr;
  const std::int64_t of_queries = biased ? (width + 1) * (width + query) : query * width;
  const std::int64_t of_keys = (rank + choice.size) * width;
  const std::int64_t up = heads.heads * (content + heads.value_dim) * rank;
  const std::int64_t vectors =  // biases, and gains of the norms of latents
      (biased ? 2 * (width + 1) : 0) + 2 * rank + choice.size + width;
  const std::int64_t beside = counted == Counted::parameters ? vectors : 0;
  return dimensions.layers * (of_queries + of_keys + up + beside);
}

/// Of a layer whose heads do so many products for each of the tokens before, half way through the
/// context.
double flops_of_maps(const Model& model, std::int64_t heads, std::int64_t elements) {
  const double half = static_cast<double>(model.dimensions().context.value_or(2)) / 2;
  return 2 * half * static_cast<double>(heads * elements);
}

/// Scores and mixed values, and keys and values of the tokens before, made anew of their latents.
double flops_of_maps(const Model& model, std::int64_t layer) {
  const Dimensions& dimensions = model.dimensions(layer);
  if (!model.dimensions().attends(layer)) return 0;
  const HeadShape& heads = dimensions.heads;
  std::int64_t elements = heads.head_dim + heads.value_dim;
  if (dimensions.latent) {
    elements +=
        dimensions.latent->key_value * (heads.head_dim - heads.shared_key_dim + heads.value_dim);
  }
  return flops_of_maps(model, heads.heads, elements);
}

/// Products of a token in each layer; the last: of the head that foretells tokens.
std::vector<double> products_of(const Model& model) {
  const Inventory inventory = take_inventory(model, declared_copies(model));
  const Dimensions& dimensions = model.dimensions();
  std::vector<double> out(static_cast<std::size_t>(dimensions.layers) + 1);
  const auto& experts = inventory.facts.experts;
  for (const TensorFacts& tensor : inventory.tensors) {
    const bool counts = tensor.layer && !tensor.tied_to && tensor.role != kBuffer;
    const auto axes = std::ranges::count_if(tensor.shape, [](auto extent) { return extent > 1; });
    const bool of_one_expert = tensor.role == role_name(Role::router);
    if (!counts || (axes < 2 && !of_one_expert)) continue;  // vectors, some stored as one row
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

std::vector<std::int64_t> layers_gone(const Model& model, const Choice& choice) {
  std::vector<std::int64_t> gone;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    const auto& kept = choice.kept.front();
    if (std::find(kept.begin(), kept.end(), layer) == kept.end()) gone.push_back(layer);
  }
  return gone;
}

double flops_after(const Model& model, const Choice& choice, double before) {
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const double layers = static_cast<double>(dimensions.layers);
  const auto without = [&](std::int64_t whole) {
    const std::int64_t units = whole - choice.size;
    return before -
           2 * static_cast<double>(per_unit(model, choice.form, Counted::products) * units);
  };
  switch (choice.form) {
    case Form::layers: {
      const std::vector<double> products = products_of(model);
      for (const std::int64_t layer : layers_gone(model, choice)) {
        before -= 2 * products[static_cast<std::size_t>(layer)] + flops_of_maps(model, layer);
      }
      return before;
    }
    case Form::width: return without(dimensions.mlp_width);
    case Form::experts: return without(dimensions.experts);
    case Form::kv_heads: return without(heads.kv_heads);
    case Form::hidden:
      return without(dimensions.width) - 2 * static_cast<double>(dimensions.vocabulary.value_or(0) *
                                                                 (dimensions.width - choice.size));
    case Form::head_width:
      return without(heads.head_dim) -
             layers * flops_of_maps(model, heads.heads, 2 * (heads.head_dim - choice.size));
    case Form::heads:
      return without(heads.heads) - layers * flops_of_maps(model, heads.heads - choice.size,
                                                           heads.head_dim + heads.value_dim);
    case Form::latent: {
      const std::int64_t content = content_of(model, choice);
      const std::int64_t anew = (choice.joint + 1) * (content + heads.value_dim);
      const std::int64_t more = content + choice.size - heads.head_dim + anew;
      return before +
             2 * static_cast<double>(latent_elements(model, choice, Counted::products) -
                                     attention_elements(model, Counted::products)) +
             layers * flops_of_maps(model, heads.heads, more);
    }
    case Form::ranks:
      for (const auto& [place, rank] : choice.ranks) {
        const TensorMatrix& matrix = model.weight(place.first, place.second).matrix;
        before +=
            2 * static_cast<double>(rank * (matrix.rows + matrix.cols) - matrix.rows * matrix.cols);
      }
      return before;
  }
  return before;
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
  for (const double products : products_of(model)) out.flops_per_token += 2 * products;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    out.flops_per_token += flops_of_maps(model, layer);
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

ModelSize size_after(const Model& model, const ModelSize& before, const Choice& choice) {
  ModelSize out = before;
  out.flops_per_token = flops_after(model, choice, out.flops_per_token);
  const Dimensions& dimensions = model.dimensions();
  const HeadShape& heads = dimensions.heads;
  const auto cut = [&](std::int64_t whole) {
    out.parameters -= per_unit(model, choice.form) * (whole - choice.size);
  };
  const auto cut_cache = [&](std::int64_t whole) {
    out.kv_cache_bytes_per_token = out.kv_cache_bytes_per_token * choice.size / whole;
  };
  switch (choice.form) {
    case Form::layers:
      out.parameters -= of_layers(model, layers_gone(model, choice));
      if (model.stack() != "encoder") cut_cache(dimensions.layers);
      break;
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
      out.parameters += latent_elements(model, choice, Counted::parameters) -
                        attention_elements(model, Counted::parameters);
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
