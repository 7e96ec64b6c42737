#include "attnscope/forward/experts.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/router.h"
#include "attnscope/forward/weights/tensor_reader.h"

namespace attnscope {
namespace {

/// Reads one matrix of an expert with its bias. Experts are read from the file each time they are
/// used.
SharedLinear read_expert(const Model& model, std::int64_t layer, std::int64_t expert, Role role,
                         const Compute& compute) {
  const TensorReader reader(model, /*copy_weights=*/false, compute);
  const Weight weight = model.expert_weight(layer, expert, role);
  std::vector<float> bias;
  if (weight.bias != nullptr) bias = reader.values(weight.bias_column);
  return reader.make_linear({weight.matrix}, std::move(bias), /*copied=*/false);
}

/// Computes out = (u + 1) g σ(alpha g), where g = min(gate, clamp) and u is `out` clipped to
/// ±clamp.
void clamp_gated(MatrixView<const float> gate, double clamp, double alpha, MatrixView<float> out) {
  const auto most = static_cast<float>(clamp), slope = static_cast<float>(alpha);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) {
      const float g = std::min(gate(row, col), most);
      const float u = std::clamp(out(row, col), -most, most);
      out(row, col) = (u + 1) * g / (1 + std::exp(-slope * g));
    }
  }
}

/// Computes out = the sum of all slots of each row.
void sum_slots(MatrixView<const float> slots, MatrixView<float> out) {
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) {
      float sum = 0;
      for (std::int64_t at = col; at < slots.cols; at += out.cols) sum += slots(row, at);
      out(row, col) = sum;
    }
  }
}

/// Sorts the experts of each row by falling weight; ties by index.
void sort_by_weight(ChosenExperts& chosen) {
  std::vector<std::pair<float, std::int64_t>> own(static_cast<std::size_t>(chosen.chosen));
  for (std::size_t first = 0; first < chosen.experts.size(); first += own.size()) {
    for (std::size_t at = 0; at < own.size(); ++at) {
      own[at] = {-chosen.weights[first + at], chosen.experts[first + at]};
    }
    std::sort(own.begin(), own.end());
    for (std::size_t at = 0; at < own.size(); ++at) {
      chosen.weights[first + at] = -own[at].first;
      chosen.experts[first + at] = own[at].second;
    }
  }
}

}  // namespace

ChosenExperts route(const ExpertWeights& weights, const ExpertSpec& spec,
                    MatrixView<const float> logits, const Compute& compute) {
  ChosenExperts chosen = choose_experts(spec, logits, weights.choice_bias, compute);
  for (std::size_t at = 0; !weights.factors.empty() && at < chosen.weights.size(); ++at) {
    chosen.weights[at] *= weights.factors[static_cast<std::size_t>(chosen.experts[at])];
  }
  return chosen;
}

void ExpertRun::show_chosen(std::int64_t layer, ChosenExperts& chosen) const {
  const bool shows_index = hooks_.wants(HookPoint::expert_index, layer);
  if (!shows_index && !hooks_.wants(HookPoint::expert_weight, layer) &&
      !hooks_.wants(HookPoint::expert_out, layer)) {
    return;
  }
  sort_by_weight(chosen);
  if (shows_index) {
    hooks_.hooks->visit({.point = HookPoint::expert_index,
                         .layer = layer,
                         .rows = hooks_.rows,
                         .indices = chosen.experts});
  }
  const std::int64_t rows = std::ssize(chosen.weights) / chosen.chosen;
  hooks_.show(HookPoint::expert_weight, layer,
              {chosen.weights.data(), rows, chosen.chosen, chosen.chosen});
}

/// The rows routed to an expert, and its weight in each row.
struct ExpertRun::Visit {
  std::int64_t expert = 0;
  std::vector<std::int64_t> rows;
  std::vector<float> weights;
  std::vector<std::int64_t> slots = {};  // place among the row's experts; empty: not needed
};

void ExpertRun::run(std::int64_t layer, const ExpertWeights& weights,
                    MatrixView<const float> stream, MatrixView<const float> input,
                    MatrixView<float> out, bool add) {
  const ExpertSpec& spec = *spec_.layers[static_cast<std::size_t>(layer)].experts;
  const std::int64_t experts = spec_.dimensions.experts;
  const auto norm_stream = [&](const OptionalNorm& norm) {
    if (!norm) return input;
    const MatrixView<float> to = sized(normed_, stream.rows, stream.cols);
    apply_norm(*norm, stream, to, compute_);
    return MatrixView<const float>(to);
  };
  const MatrixView<float> logits = sized(logits_, input.rows, experts);
  apply(*weights.router, norm_stream(weights.router_norm), {}, logits, compute_);
  hooks_.show(HookPoint::router_logits, layer, logits);
  ChosenExperts chosen = route(weights, spec, logits, compute_);
  if (observer_.on_routing) {
    observer_.on_routing({.layer = layer,
                          .chosen = chosen.chosen,
                          .logits = logits,
                          .experts = chosen.experts,
                          .weights = chosen.weights,
                          .tied = chosen.tied});
  }

  show_chosen(layer, chosen);
  const bool shows_each = hooks_.wants(HookPoint::expert_out, layer);
  if (shows_each) {
    const MatrixView<float> slots = sized(slots_, input.rows, chosen.chosen * input.cols);
    std::fill_n(slots.data, slots.rows * slots.cols, 0.0F);
  }

  std::vector<Visit> visits(static_cast<std::size_t>(experts));
  for (std::size_t at = 0; at < chosen.experts.size(); ++at) {
    Visit& visit = visits[static_cast<std::size_t>(chosen.experts[at])];
    visit.rows.push_back(static_cast<std::int64_t>(at) / chosen.chosen);
    visit.weights.push_back(chosen.weights[at]);
    if (shows_each) visit.slots.push_back(static_cast<std::int64_t>(at) % chosen.chosen);
  }
  MatrixView<const float> read = norm_stream(weights.input_norm);
  if (weights.latent_down != nullptr) {
    const MatrixView<float> narrow =
        sized(latents_, input.rows, weights.latent_down->weights.outputs());
    apply(*weights.latent_down, read, {}, narrow, compute_);
    read = narrow;
  }
  MatrixView<float> sum = sized(sum_, read.rows, read.cols);
  std::fill_n(sum.data, sum.rows * sum.cols, 0.0F);
  // Experts run one after another, each on all threads. Their order, and with it every digit of a
  // row, does therefore not depend on the other rows.
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    Visit& visit = visits[static_cast<std::size_t>(expert)];
    if (visit.rows.empty()) continue;
    compute_.check_stop();
    visit.expert = expert;
    run_expert(layer, weights, visit, read);
  }
  if (shows_each) {
    hooks_.show(HookPoint::expert_out, layer, slots_.view());
    if (hooks_.changes(HookPoint::expert_out, layer)) sum_slots(slots_.view(), sum);
  }
  if (weights.latent_up != nullptr) {
    std::swap(sum_, latents_);
    sum = sized(sum_, input.rows, input.cols);
    apply(*weights.latent_up, latents_.view(), {}, sum, compute_);
  }
  if (weights.output_norm) apply_norm(*weights.output_norm, sum, sum, compute_);
  if (weights.shared_up != nullptr) run_shared(layer, weights, input);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    for (std::int64_t col = 0; col < out.cols; ++col) {
      out(row, col) = (add ? out(row, col) : 0.0F) + sum(row, col);
    }
  }
}

void ExpertRun::run_expert(std::int64_t layer, const ExpertWeights& weights, const Visit& visit,
                           MatrixView<const float> input) {
  const LayerSpec& layer_spec = spec_.layers[static_cast<std::size_t>(layer)];
  const ExpertSpec& spec = *layer_spec.experts;
  const Model& model = *weights.model;
  const auto rows = std::ssize(visit.rows);
  const auto weight_of = [&](std::int64_t at) {
    return visit.weights[static_cast<std::size_t>(at)];
  };
  const auto row_of = [&](std::int64_t at) { return visit.rows[static_cast<std::size_t>(at)]; };

  const MatrixView<float> gathered = sized_at_least(gathered_, rows, input.cols);
  for (std::int64_t at = 0; at < rows; ++at) {
    const float factor = spec.weighs_input ? weight_of(at) : 1.0F;
    for (std::int64_t col = 0; col < input.cols; ++col) {
      gathered(at, col) = factor * input(row_of(at), col);
    }
  }

  const auto read = [&](Role role) {
    return read_expert(model, layer, visit.expert, role, compute_);
  };
  const bool gated = model.describes_of_expert(Role::gate);
  const MatrixView<float> wide = sized_at_least(wide_, rows, spec_.dimensions.expert_width);
  const Activation activation = layer_spec.activation;
  apply(*read(Role::up), gathered, {.activation = gated ? Activation::linear : activation}, wide,
        compute_);
  if (gated && spec.clamp) {
    const MatrixView<float> gate = sized_at_least(gate_, rows, wide.cols);
    apply(*read(Role::gate), gathered, {}, gate, compute_);
    clamp_gated(gate, *spec.clamp, spec.alpha, wide);
  } else if (gated) {
    apply(*read(Role::gate), gathered, {.activation = activation, .multiply = wide}, wide,
          compute_);
  }
  const MatrixView<float> given = sized_at_least(given_, rows, input.cols);
  apply(*read(Role::down), wide, {}, given, compute_);
  for (std::int64_t at = 0; at < rows; ++at) {
    const float factor = spec.weighs_input ? 1.0F : weight_of(at);
    for (std::int64_t col = 0; col < given.cols; ++col) {
      sum_(row_of(at), col) += factor * given(at, col);
    }
    if (visit.slots.empty()) continue;
    const std::int64_t first = visit.slots[static_cast<std::size_t>(at)] * given.cols;
    for (std::int64_t col = 0; col < given.cols; ++col) {
      slots_(row_of(at), first + col) = factor * given(at, col);
    }
  }
}

/// Adds the outputs of the shared experts to sum_.
void ExpertRun::run_shared(std::int64_t layer, const ExpertWeights& weights,
                           MatrixView<const float> input) {
  const Activation activation = spec_.layers[static_cast<std::size_t>(layer)].activation;
  const bool gated = weights.shared_gate != nullptr;
  const MatrixView<float> wide =
      sized(shared_wide_, input.rows, spec_.dimensions_of(layer).shared_width);
  apply(*weights.shared_up, input, {.activation = gated ? Activation::linear : activation}, wide,
        compute_);
  if (gated) {
    apply(*weights.shared_gate, input, {.activation = activation, .multiply = wide}, wide,
          compute_);
  }
  const MatrixView<float> sum = sum_.view();
  const bool shown = hooks_.wants(HookPoint::shared_expert_out, layer);
  if (weights.shared_weight == nullptr && !weights.shared_norm && !shown) {
    apply(*weights.shared_down, wide, {.add = sum}, sum, compute_);
    return;
  }
  const MatrixView<float> factor = sized(shared_weight_, input.rows, 1);
  std::fill_n(factor.data, factor.rows, 1.0F);
  if (weights.shared_weight != nullptr) {
    apply(*weights.shared_weight, input, {.activation = Activation::sigmoid}, factor, compute_);
  }
  const MatrixView<float> given = sized_at_least(given_, input.rows, input.cols);
  apply(*weights.shared_down, wide, {}, given, compute_);
  if (weights.shared_norm) apply_norm(*weights.shared_norm, given, given, compute_);
  for (std::int64_t row = 0; row < sum.rows; ++row) {
    for (std::int64_t col = 0; col < sum.cols; ++col) given(row, col) *= factor(row, 0);
  }
  hooks_.show(HookPoint::shared_expert_out, layer, given);
  for (std::int64_t row = 0; row < sum.rows; ++row) {
    for (std::int64_t col = 0; col < sum.cols; ++col) sum(row, col) += given(row, col);
  }
}

}  // namespace attnscope
