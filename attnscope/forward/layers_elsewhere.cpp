#include "attnscope/forward/layers_elsewhere.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "attnscope/base/error.h"
#include "attnscope/forward/experts.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/router.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse(const Model& model, const std::string& what) {
  throw Error(ErrorKind::unsupported, {.problem = verbatim(model.name()) + ": " + what +
                                                  " cannot be read where its layers run",
                                       .hint = "open its files, or pass its module to open"});
}

/// Throws Error(unsupported) for callbacks that show_activation() does not call.
void check_callbacks(const ForwardPass& pass, const ForwardObserver& observer) {
  const Model& model = pass.model();
  if (observer.on_cross_maps) refuse(model, "maps of cross-attention");
  if (observer.on_latents) refuse(model, "MLA latents");
  if (observer.on_values && !shows_values(pass)) refuse(model, "values");
}

/// Names of the inputs of matrices.
constexpr std::array<std::pair<const char*, Role>, 4> kInputs = {{{"input_query", Role::query},
                                                                  {"input_output", Role::output},
                                                                  {"input_up", Role::up},
                                                                  {"input_down", Role::down}}};

/// Whether the values that the maps weight are the output of W_V.
bool has_plain_values(const ForwardPass& pass, std::int64_t layer) {
  const LayerWeights& weights = pass.weights().layers[static_cast<std::size_t>(layer)];
  const ModelSpec& spec = pass.model().spec();
  return hook_shape(pass, HookPoint::v, layer) && !weights.mla && !weights.value_norm &&
         !weights.value_embedding && !spec.sharing_of(layer).from &&
         !spec.layers[static_cast<std::size_t>(layer)].attention.clip;
}

/// Chooses experts from the input of a router, (rows, D).
void show_routing(const LayersRequest& request, std::int64_t layer, MatrixView<const float> input) {
  const auto at = static_cast<std::size_t>(layer);
  const ExpertWeights& weights = *request.pass.weights().layers[at].experts;
  Matrix<float> logits(input.rows, weights.router->weights.outputs());
  apply(*weights.router, input, {}, logits.view(), request.compute);
  const ChosenExperts chosen = route(weights, *request.pass.model().spec().layers[at].experts,
                                     logits.view(), request.compute);
  request.observer.on_routing({.layer = layer,
                               .chosen = chosen.chosen,
                               .logits = logits.view(),
                               .experts = chosen.experts,
                               .weights = chosen.weights,
                               .tied = chosen.tied});
}

}  // namespace

const LayersElsewhere* layers_elsewhere(const Model& model) {
  return static_cast<const LayersElsewhere*>(model.layer_runner());
}

bool shows_values(const ForwardPass& pass) {
  if (layers_elsewhere(pass.model()) == nullptr) return true;
  for (std::int64_t layer = 0; layer < pass.model().dimensions().layers; ++layer) {
    if (!has_plain_values(pass, layer)) return false;
  }
  return true;
}

std::int64_t rows_at_once(const Model& model) {
  constexpr std::int64_t kHere = 512;  // with fewer rows, products read the weights too often
  constexpr std::int64_t kElsewhere = 4096;
  return layers_elsewhere(model) == nullptr ? kHere : kElsewhere;
}

std::int64_t end_layer(const LayersRequest& request) {
  const std::int64_t last = request.pass.model().dimensions().layers - 1;
  const ForwardObserver& observer = request.observer;
  return std::min(observer.end_after_layer.value_or(last),
                  observer.end_after_maps_of.value_or(last)) +
         1;
}

std::vector<NamedActivation> wanted_activations(const LayersRequest& request) {
  const ForwardObserver& observer = request.observer;
  const ForwardPass& pass = request.pass;
  check_callbacks(pass, observer);
  const std::int64_t layers = pass.model().dimensions().layers;
  const std::int64_t end = end_layer(request);
  const HookCalls hooks{.hooks = observer.hooks, .rows = &request.rows};
  const auto has = [&](HookPoint point, std::int64_t layer) {
    return hook_shape(pass, point, layer).has_value();
  };
  std::vector<NamedActivation> wanted;
  for (std::int64_t layer = request.start.layer; layer <= end; ++layer) {
    const bool of_layer = observer.on_hidden_states || hooks.wants(HookPoint::resid_pre, layer);
    if (observer.sees_stream(layer) || (layer < layers && of_layer)) {
      wanted.emplace_back("stream", layer);
    }
  }
  for (std::int64_t layer = request.start.layer; layer < end; ++layer) {
    const LayerWeights& weights = pass.weights().layers[static_cast<std::size_t>(layer)];
    const auto add = [&](const char* name, bool wants, bool exists) {
      if (wants && exists) wanted.emplace_back(name, layer);
    };
    const bool parts = observer.sees_parts_of(layer);
    const bool attends = parts && weights.output != nullptr;
    const bool has_mlp = parts && (weights.up != nullptr || weights.experts.has_value());
    add("middle", observer.on_middle != nullptr, has(HookPoint::resid_mid, layer));
    add("heads", observer.on_heads != nullptr, attends);
    add("cross_heads", observer.on_cross_heads != nullptr, parts && weights.cross.has_value());
    add("mlp", observer.on_mlp != nullptr, has_mlp);
    add("mixer", observer.on_mixer != nullptr, parts && weights.mixer != nullptr);
    const bool reads_mlp = weights.up != nullptr && !weights.experts.has_value();
    for (const auto& [name, role] : kInputs) {
      const bool of_mlp = role == Role::up || role == Role::down;
      add(name, observer.sees_input(layer, role), of_mlp ? reads_mlp : weights.output != nullptr);
    }
    add("routing", observer.on_routing != nullptr, weights.experts.has_value());
    for (const std::string_view name : hook_names()) {
      const HookPoint point = *hook_from_name(name);
      if (is_of_model(point) || point == HookPoint::resid_pre) continue;
      const bool shown = (point == HookPoint::pattern && observer.sees_maps(layer)) ||
                         (point == HookPoint::v && observer.on_values);
      if ((shown || hooks.wants(point, layer)) && has(point, layer)) {
        wanted.emplace_back(name, layer);
      }
    }
  }
  return wanted;
}

void show_activation(const LayersRequest& request, const NamedActivation& activation,
                     MatrixView<float> values) {
  const auto& [name, layer] = activation;
  if (values.rows != request.rows.total) {
    throw std::invalid_argument(name + " has other rows than the sequences");
  }
  const ForwardObserver& observer = request.observer;
  const HookCalls hooks{.hooks = observer.hooks, .rows = &request.rows};
  const auto call = [&, at = layer](const auto& callback) {
    if (callback) callback(at, values);
  };
  if (name == "stream") {
    if (layer < request.pass.model().dimensions().layers) {
      hooks.show(HookPoint::resid_pre, layer, values);
      call(observer.on_hidden_states);
    }
    if (observer.sees_stream(layer)) observer.on_stream(layer, values);
    return;
  }
  if (name == "middle") return call(observer.on_middle);
  if (name == "heads") return call(observer.on_heads);
  if (name == "cross_heads") return call(observer.on_cross_heads);
  if (name == "mlp") return call(observer.on_mlp);
  if (name == "mixer") return call(observer.on_mixer);
  if (name == "routing") return show_routing(request, layer, values);
  for (const auto& [input, role] : kInputs) {
    if (name == input) return observer.on_inputs(layer, role, values);
  }
  const HookPoint point = *hook_from_name(name);
  if (hook_shape(request.pass, point, layer)->columns() != values.cols) {
    refuse(request.pass.model(), "'" + name + "'" + " of layer " + std::to_string(layer));
  }
  hooks.show(point, layer, values);
  if (point == HookPoint::v) call(observer.on_values);
}

void show_maps(const LayersRequest& request, const NamedActivation& activation,
               std::span<const MatrixView<float>> maps) {
  const auto& [name, layer] = activation;
  const ForwardObserver& observer = request.observer;
  const HookPoint point = *hook_from_name(name);
  const HookCalls hooks{.hooks = observer.hooks, .rows = &request.rows};
  if (hooks.wants(point, layer)) {
    observer.hooks->visit({.point = point, .layer = layer, .rows = &request.rows, .maps = maps});
  }
  if (point != HookPoint::pattern || !observer.sees_maps(layer)) return;
  observer.on_maps({.layer = layer,
                    .heads = std::ssize(maps) / std::ssize(request.rows.length),
                    .maps = {maps.begin(), maps.end()}});
}

}  // namespace attnscope
