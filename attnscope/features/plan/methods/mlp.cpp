#include "attnscope/features/plan/methods/mlp.h"

#include <algorithm>
#include <mutex>

#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/plan/methods/method_costs.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/neuron_removal.h"
#include "attnscope/features/plan/search.h"

namespace attnscope {

Method mlp_method();

namespace {

std::string why_not_mlp(const Model& model) {
  const ModelSpec& spec = model.spec();
  if (spec.dimensions.experts > 0) return "the model has MoE layers";
  if (!model.describes(Role::down) || spec.dimensions.mlp_width < 2) return "the model has no MLP";
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    if (!spec.dimensions.has_mlp(layer)) return "some layers have no MLP";
  }
  if (!spec.own_dimensions.empty()) return "the MLP size differs between layers";
  if (spec.dimensions.layer_groups > 0) return "all layers share one set of weights";
  const ConfigKeys& keys = spec.architecture.keys;
  if (keys.mlp_width.name.empty()) return "config.json has no key for the MLP size";
  if (keys.mlp_divisor != 1) return "config.json stores a multiple of the MLP size";
  if (!keys.mlp_adjusted.enabled.name.empty())
    return "transformers computes the MLP size from config.json and rounds it";
  return "";
}

/// `removed`: per MLP, at least as many neurons as must be removed.
Choice mlp_choice(const Model& model, std::int64_t size,
                  std::span<const std::vector<std::int64_t>> removed) {
  const std::int64_t width = model.dimensions().mlp_width;
  Choice choice{.method = mlp_method(), .size = size};
  for (const std::vector<std::int64_t>& order : removed) {
    std::vector<bool> goes(static_cast<std::size_t>(width), false);
    for (std::int64_t at = 0; at < width - size; ++at) {
      goes[static_cast<std::size_t>(order[static_cast<std::size_t>(at)])] = true;
    }
    std::vector<std::int64_t>& kept = choice.kept.emplace_back();
    for (std::int64_t neuron = 0; neuron < width; ++neuron) {
      if (!goes[static_cast<std::size_t>(neuron)]) kept.push_back(neuron);
    }
  }
  return choice;
}

Choice choose_neurons(const Model& model, std::int64_t size, const TextStatistics& text,
                      const Compute& compute) {
  return mlp_choice(model, size,
                    removed_neurons(model, model.dimensions().mlp_width - size, text, compute));
}

Choice search_neurons(Planner& planner, std::int64_t size) {
  const Model& model = planner.model();
  return mlp_choice(model, size, planner.neurons(model.dimensions().mlp_width - size));
}

ChangedModel make_narrower_mlps(const Model& model, const Choice& choice,
                                const TextStatistics& text, const Compute& compute) {
  check_lists(choice, mlp_count(model), choice.size, model.dimensions().mlp_width);
  const auto narrow = [&](ChangedModel& changed, std::int64_t first_list, const auto& moments_of) {
    const Model& stack = changed.source();
    for_layers(changed, text, compute, [&](std::int64_t layer) {
      const auto& kept = choice.kept[static_cast<std::size_t>(first_list + layer)];
      LayerMatrices own;
      for (const Role role : {Role::gate, Role::up}) {
        if (stack.weight(layer, role).tensor != nullptr)
          keep_weight_rows(own, stack, layer, role, kept);
      }
      own.weights.emplace(Role::down,
                          refitted(canonical_matrix(stack, layer, Role::down).view(),
                                   moments_of(layer, Role::down).mean(), kept, compute));
      changed.set_layer(layer, own);
    });
  };
  ChangedModel changed(model, text.dtype);
  changed.set_config(changed.key_of(model.spec().architecture.keys.mlp_width), choice.size);
  narrow(changed, 0, text.moments);
  if (const Model* other = stack_of_same_width(model)) {
    ChangedModel beside(*other, text.dtype);
    if (text.finished != nullptr) text.finished->begin_next();
    narrow(beside, model.dimensions().layers, text.moments_of_other_stack);
    changed.take(beside);
  }
  return changed;
}

std::int64_t neuron_elements(const Model& model, std::int64_t layer, Counted counted) {
  return row_elements(model, layer, Role::gate, counted) +
         row_elements(model, layer, Role::up, counted) + column_elements(model, layer, Role::down);
}

ModelSize size_of_narrower_mlps(const Model& model, const ModelSize& before, const Choice& choice) {
  const std::int64_t removed = model.dimensions().mlp_width - choice.size;
  ModelSize out = without_units(model, before, removed, neuron_elements);
  if (const Model* other = stack_of_same_width(model)) {
    out.parameters -= unit_elements(*other, neuron_elements, Counted::parameters) * removed;
  }
  return out;
}

/// Peak of two phases: removal of neurons in several layers at once, then refitting of one layer at
/// a time with its moments and three matrices.
std::uint64_t mlp_fitting_bytes(const Model& model, const Context& context) {
  const Dimensions& dimensions = model.dimensions();
  const auto width = static_cast<std::uint64_t>(dimensions.width);
  const auto neurons = static_cast<std::uint64_t>(dimensions.mlp_width);
  return std::max((neurons + 3 * width) * neurons * sizeof(double),
                  bytes_at_once(neurons_bytes(dimensions.mlp_width, dimensions.width), context));
}

}  // namespace

std::int64_t mlp_count(const Model& model) {
  const Model* other = stack_of_same_width(model);
  return model.dimensions().layers + (other == nullptr ? 0 : other->dimensions().layers);
}

std::vector<std::vector<std::int64_t>> removed_neurons(const Model& model, std::int64_t count,
                                                       const TextStatistics& text,
                                                       const Compute& compute) {
  std::vector<std::vector<std::int64_t>> out;
  // Each removal depends on the last, so threads work on different layers, as many as fit in
  // memory.
  const auto at_once = static_cast<std::int64_t>(std::max<std::uint64_t>(
      1, text.work_bytes / neurons_bytes(model.dimensions().mlp_width, model.dimensions().width)));
  std::mutex asking;
  const auto add_stack = [&](const Model& stack, const auto& moments_of) {
    const std::int64_t layers = stack.dimensions().layers;
    for (std::int64_t first = 0; first < layers; first += at_once) {
      std::vector<std::vector<std::int64_t>> own(
          static_cast<std::size_t>(std::min(at_once, layers - first)));
      run_parts(compute, own.size(), [&](std::size_t part) {
        const std::int64_t layer = first + static_cast<std::int64_t>(part);
        const Matrix<double> down = canonical_matrix(stack, layer, Role::down);
        std::unique_lock lock(asking);
        Matrix<double> moments = moments_of(layer, Role::down).mean_second();
        lock.unlock();
        own[part] = neurons_to_remove(down.view(), std::move(moments), count, compute);
      });
      out.insert(out.end(), own.begin(), own.end());
    }
  };
  add_stack(model, text.moments);
  const Model* other = stack_of_same_width(model);
  if (other != nullptr) add_stack(*other, text.moments_of_other_stack);
  return out;
}

Method mlp_method() {
  static const MethodInfo info = {
      .name = "mlp",
      .set_example = "mlp=384",
      .is_rounded = true,
      .both_stacks = true,
      .rows = PlanRows::layer,
      .list_unit = 1,
      .whole = [](const Dimensions& dimensions) { return dimensions.mlp_width; },
      .cut = [](Dimensions& dimensions, std::int64_t size) { dimensions.mlp_width = size; },
      .why_not = why_not_mlp,
      .sizes = [](const Model& model) { return descending_sizes(model.dimensions().mlp_width); },
      .choose = choose_neurons,
      .search = search_neurons,
      .search_steps = [](const Model&, std::span<const std::int64_t>) { return std::size_t{1}; },
      .make = make_narrower_mlps,
      .size_after = size_of_narrower_mlps,
      .changed_elements = mlp_elements,
      .fitting_bytes = mlp_fitting_bytes,
      .words =
          [](const Choice& choice, std::int64_t whole) {
            return "MLP " + std::to_string(whole) + " → " + std::to_string(choice.size);
          },
  };
  return &info;
}

}  // namespace attnscope
