// Expert pruning: removes the experts of each layer with the lowest sum of routing weights on the
// text.
#include <algorithm>
#include <set>

#include "attnscope/base/error.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/model/tensor_names.h"
#include "attnscope/tensor/encode.h"

namespace attnscope {

Method experts_method();

namespace {

/// The expert tensors of one layer.
struct ExpertNames {
  std::vector<std::vector<std::string>> single;  // per kind: names by expert
  std::set<std::string> stacked;                 // tensors with an expert axis
  std::set<std::string> concatenated;  // of `stacked`: the expert axis is part of the rows
};

void add_site(std::set<std::string>& names, const CheckpointTensor* tensor) {
  if (tensor != nullptr) names.insert(tensor->name);
}

/// Adds the names of one tensor per expert, or a single name if all experts are stacked in one
/// tensor.
void add_names(ExpertNames& out, std::vector<std::string> names) {
  if (std::find(names.begin(), names.end(), "") != names.end()) return;
  if (names.size() > 1 && names[0] != names[1]) {
    out.single.push_back(std::move(names));
  } else {
    out.stacked.insert(names.front());
  }
}

ExpertNames expert_names(const Model& model, std::int64_t layer) {
  ExpertNames out;
  const ExpertSpec& spec = *model.spec().layers[static_cast<std::size_t>(layer)].experts;
  const Weight& router = model.weight(layer, Role::router);
  add_site(out.stacked, router.tensor);
  add_site(out.stacked, router.bias);
  std::vector<std::string> patterns = spec.choice_bias;
  if (!spec.expert_factors.empty()) patterns.push_back(spec.expert_factors);
  for (const std::string& pattern : patterns) {
    const std::string name = fill_pattern(pattern, {.layer = layer});
    add_site(out.stacked, model.checkpoint().find(model.prefix() + name));
  }
  for (const Role role : {Role::gate, Role::up, Role::down}) {
    if (!model.describes_of_expert(role)) continue;
    std::vector<std::string> weights, biases;
    for (std::int64_t expert = 0; expert < model.dimensions().experts; ++expert) {
      const Weight weight = model.expert_weight(layer, expert, role);
      weights.push_back(weight.tensor == nullptr ? "" : weight.tensor->name);
      // Matrices of one expert have two axes, too, but then each has its own tensor.
      if (weight.tensor != nullptr && weight.tensor->view.shape.size() == 2) {
        out.concatenated.insert(weight.tensor->name);
      }
      biases.push_back(weight.bias == nullptr ? "" : weight.bias->name);
    }
    add_names(out, std::move(weights));
    add_names(out, std::move(biases));
  }
  return out;
}

/// Keeps only these experts along the expert axis, or the rows of these experts if they follow each
/// other along the first axis.
void keep_parts(ChangedModel& changed, const std::string& name,
                const std::vector<std::int64_t>& kept, bool concatenated) {
  const Checkpoint& checkpoint = changed.source().checkpoint();
  const TensorView view = changed.tensors().at(name);
  checkpoint.need(all_bytes(view));
  const std::vector<std::byte> all = encoded_elements(view, view.dtype);
  if (const CheckpointTensor* own = checkpoint.find(name)) checkpoint.check_intact(*own);
  const std::int64_t experts = changed.source().dimensions().experts;
  const std::size_t part = all.size() / static_cast<std::size_t>(experts);
  std::vector<std::byte> bytes;
  for (const std::int64_t at : kept) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(part) * at;
    bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(part));
  }
  Shape shape = view.shape;
  if (concatenated) {
    shape.front() = shape.front() / experts * std::ssize(kept);
  } else {
    *std::find(shape.begin(), shape.end(), experts) = std::ssize(kept);
  }
  changed.put(name, std::move(shape), std::move(bytes), view.dtype);
}

const std::string& experts_key(const ChangedModel& changed) {
  const std::vector<std::string>& names = changed.source().spec().architecture.experts->experts;
  for (const std::string& name : names) {
    if (changed.config(name)) return name;
  }
  return names.front();
}

std::string why_not_experts(const Model& model) {
  const ModelSpec& spec = model.spec();
  if (spec.dimensions.experts < 2) return "the model has no experts";
  if (!spec.quantization.method.empty()) return "the experts are quantized";
  for (const LayerSpec& layer : spec.layers) {
    if (layer.experts && layer.experts->chosen >= spec.dimensions.experts) {
      return "every token is routed to all experts";
    }
  }
  return "";
}

std::vector<std::int64_t> expert_counts(const Model& model) {
  const ExpertSpec* spec = nullptr;
  for (const LayerSpec& layer : model.spec().layers) {
    if (layer.experts) spec = &*layer.experts;
  }
  std::vector<std::int64_t> out;
  if (spec == nullptr) return out;
  const bool of_two = spec->groups > 1 && spec->group_score == GroupScore::sum_of_two_best;
  for (std::int64_t count = model.dimensions().experts; count >= spec->chosen; --count) {
    const std::int64_t size = count / spec->groups;  // per group
    if (count % spec->groups != 0 || size < (of_two ? 2 : 1)) continue;
    if (size * spec->kept_mlp_groups >= spec->chosen) out.push_back(count);
  }
  return out;
}

Choice choose_experts(const Model& model, std::int64_t size, const TextStatistics& text,
                      const Compute&) {
  const ModelSpec& spec = model.spec();
  std::vector<std::vector<double>> used(static_cast<std::size_t>(spec.dimensions.layers));
  text.rerun({.on_routing = [&](const LayerRouting& routing) {
    std::vector<double>& own = used[static_cast<std::size_t>(routing.layer)];
    own.resize(static_cast<std::size_t>(spec.dimensions.experts), 0.0);
    for (std::size_t at = 0; at < routing.experts.size(); ++at) {
      own[static_cast<std::size_t>(routing.experts[at])] +=
          static_cast<double>(routing.weights[at]);
    }
  }});
  Choice choice{.method = experts_method(), .size = size};
  for (std::size_t layer = 0; layer < used.size(); ++layer) {
    std::vector<std::int64_t>& own = choice.kept.emplace_back();
    if (used[layer].empty()) continue;
    const std::int64_t groups = spec.layers[layer].experts->groups;
    const std::int64_t of_group = spec.dimensions.experts / groups;
    for (std::int64_t group = 0; group < groups; ++group) {
      const auto begin = used[layer].begin() + group * of_group;
      for (const std::int64_t at : largest({begin, begin + of_group}, size / groups)) {
        own.push_back(group * of_group + at);
      }
    }
  }
  return choice;
}

/// Parameters of one expert, summed over all layers.
std::int64_t parameters_of_expert(const Model& model) {
  std::int64_t sum = 0;
  const auto elements = [&](const std::string& name) {
    return model.checkpoint().find(name)->view.element_count();
  };
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    if (!model.spec().layers[static_cast<std::size_t>(layer)].experts) continue;
    const ExpertNames names = expert_names(model, layer);
    for (const auto& kind : names.single) sum += elements(kind.front());
    for (const std::string& name : names.stacked) {
      sum += elements(name) / model.dimensions().experts;
    }
  }
  return sum;
}

ChangedModel keep_experts(const Model& model, const Choice& choice, const TextStatistics&,
                          const Compute&) {
  const Dimensions& dimensions = model.dimensions();
  if (std::ssize(choice.kept) != dimensions.layers) {
    throw Error(ErrorKind::format, "kept", "expected one list per layer");
  }
  ChangedModel changed(model);
  changed.set_config(experts_key(changed), choice.size);
  for (std::int64_t layer = 0; layer < dimensions.layers; ++layer) {
    if (!model.spec().layers[static_cast<std::size_t>(layer)].experts) continue;
    const std::vector<std::int64_t>& kept = choice.kept[static_cast<std::size_t>(layer)];
    check_numbers(kept, choice.size, dimensions.experts);
    const ExpertNames names = expert_names(model, layer);
    for (const auto& kind : names.single) {
      std::vector<TensorView> views;
      for (const std::int64_t at : kept) {
        views.push_back(changed.tensors().at(kind[static_cast<std::size_t>(at)]));
      }
      for (std::size_t at = 0; at < kind.size(); ++at) {
        if (at < views.size()) {
          changed.put(kind[at], views[at]);
        } else {
          changed.remove(kind[at]);
        }
      }
    }
    for (const std::string& name : names.stacked) {
      keep_parts(changed, name, kept, names.concatenated.contains(name));
    }
  }
  return changed;
}

ModelSize size_of_fewer_experts(const Model& model, const ModelSize& before, const Choice& choice) {
  // Each token is routed to as many experts as before, but the router scores fewer.
  const auto router_elements = [](const Model& own, std::int64_t layer, Counted counted) {
    return row_elements(own, layer, Role::router, counted);
  };
  const std::int64_t removed = model.dimensions().experts - choice.size;
  ModelSize out = without_units(model, before, removed, router_elements);
  out.parameters = before.parameters - parameters_of_expert(model) * removed;
  return out;
}

}  // namespace

Method experts_method() {
  static const MethodInfo info = {
      .name = "experts",
      .set_example = "experts=6",
      .combines = false,
      .rows = PlanRows::layer,
      .list_unit = 1,
      .changes_layer =
          [](const Model& model, std::int64_t layer) {
            return model.spec().layers[static_cast<std::size_t>(layer)].experts.has_value();
          },
      .whole = [](const Dimensions& dimensions) { return dimensions.experts; },
      .cut = [](Dimensions& dimensions, std::int64_t size) { dimensions.experts = size; },
      .why_not = why_not_experts,
      .sizes = expert_counts,
      .choose = choose_experts,
      .make = keep_experts,
      .size_after = size_of_fewer_experts,
  };
  return &info;
}

}  // namespace attnscope
