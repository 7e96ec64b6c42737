#include "attnscope/forward/weights/mixer_weights.h"

#include <cmath>
#include <utility>

#include "attnscope/forward/mixer_functions.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {
namespace {

/// Returns `count` outputs, starting at `first`, of each of several groups of `group` outputs.
TensorMatrix part_of_groups(const TensorView& tensor, std::int64_t groups, std::int64_t group,
                            std::int64_t first, std::int64_t count) {
  const std::int64_t step = tensor.stride(0);
  return {.tensor = tensor,
          .rows = groups * count,
          .cols = tensor.shape[1],
          .first = first * step,
          .row_stride = step,
          .col_stride = tensor.stride(1),
          .block_rows = count,
          .block_stride = group * step};
}

/// Splits each group into runs of these sizes. Adds the first run of all groups, then the second
/// one, and so on.
void add_runs(std::vector<TensorMatrix>& parts, const TensorView& tensor, std::int64_t groups,
              const std::vector<std::int64_t>& sizes) {
  std::int64_t group = 0, first = 0;
  for (const std::int64_t size : sizes) group += size;
  for (const std::int64_t size : sizes) {
    parts.push_back(part_of_groups(tensor, groups, group, first, size));
    first += size;
  }
}

/// Joins convolutions with the same kernel and without biases into one of all their channels.
CausalConvolution side_by_side(const std::vector<CausalConvolution>& parts) {
  CausalConvolution out{.kernel = parts.front().kernel};
  for (const CausalConvolution& part : parts) out.channels += part.channels;
  for (std::int64_t tap = 0; tap < out.kernel; ++tap) {
    for (const CausalConvolution& part : parts) {
      const auto from = part.taps.begin() + tap * part.channels;
      out.taps.insert(out.taps.end(), from, from + part.channels);
    }
  }
  return out;
}

}  // namespace

std::string MixerReader::name_in(std::int64_t layer, const std::string& pattern) const {
  return model_.prefix() + fill_pattern(pattern, layer_numbers(spec_.dimensions, layer));
}

const CheckpointTensor& MixerReader::matrix(std::int64_t layer, const std::string& name,
                                            std::int64_t outputs, std::int64_t inputs) const {
  return need(model_.find(name_in(layer, name), Shape{outputs, inputs}), layer);
}

SharedLinear MixerReader::stacked(const std::vector<TensorMatrix>& parts,
                                  std::vector<float> bias) const {
  return make_linear(parts, std::move(bias), copies(parts));
}

std::vector<float> MixerReader::bias_of(std::int64_t layer, const std::string& weight,
                                        std::int64_t size, bool biased) const {
  const CheckpointTensor* found = model_.checkpoint().find_first(bias_names(weight));
  if (found == nullptr && biased) refuse("the bias of '" + weight + "' is missing", layer);
  if (found == nullptr) return {};
  return values(need(model_.find(found->name, Shape{size}), layer));
}

SharedLinear MixerReader::whole(std::int64_t layer, const std::string& name, std::int64_t outputs,
                                std::int64_t inputs, bool biased) const {
  const CheckpointTensor& tensor = matrix(layer, name, outputs, inputs);
  SharedLinear out =
      stacked({whole_matrix(tensor.view)}, bias_of(layer, name_in(layer, name), outputs, biased));
  model_.checkpoint().check_intact(tensor);
  return out;
}

std::vector<float> MixerReader::vector(std::int64_t layer, const std::string& name,
                                       std::int64_t size) const {
  return values(need(model_.find(name_in(layer, name), Shape{size}), layer));
}

std::vector<float> MixerReader::numbers(std::int64_t layer, const std::string& name,
                                        std::int64_t size) const {
  const CheckpointTensor& tensor = need(model_.find(name_in(layer, name)), layer);
  const std::int64_t found = tensor.view.element_count();
  if (found != size) {
    refuse("'" + tensor.name + "' has " + std::to_string(found) + " values, expected " +
               std::to_string(size),
           layer);
  }
  return values(tensor);
}

CausalConvolution MixerReader::convolution(std::int64_t layer, const std::string& name,
                                           std::int64_t channels, std::int64_t kernel,
                                           bool biased) const {
  const std::string full = name_in(layer, name);
  const std::vector<float> stored =
      values(need(model_.find(full, Shape{channels, 1, kernel}), layer));
  CausalConvolution out{.kernel = kernel,
                        .channels = channels,
                        .taps = std::vector<float>(stored.size()),
                        .bias = bias_of(layer, full, channels, biased)};
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(channels); ++channel) {
    for (std::size_t tap = 0; tap < static_cast<std::size_t>(kernel); ++tap) {
      out.taps[tap * static_cast<std::size_t>(channels) + channel] =
          stored[channel * static_cast<std::size_t>(kernel) + tap];
    }
  }
  return out;
}

DeltaNetWeights MixerReader::read_delta_net(std::int64_t layer, const DeltaNetSpec& spec) const {
  const std::int64_t width = spec_.dimensions.width, heads = spec.value_heads;
  const std::int64_t values_of_key_head = spec.values() / spec.key_heads;
  std::vector<const CheckpointTensor*> tensors;
  const auto tensor = [&](const char* name, std::int64_t outputs) -> const TensorView& {
    tensors.push_back(&matrix(layer, spec.place + name, outputs, width));
    return tensors.back()->view;
  };
  std::vector<TensorMatrix> parts;
  if (spec.by_head) {
    add_runs(parts, tensor(".in_proj_qkvz.weight", spec.convolved() + spec.values()),
             spec.key_heads, {spec.key_dim, spec.key_dim, values_of_key_head, values_of_key_head});
    const std::int64_t own = heads / spec.key_heads;
    add_runs(parts, tensor(".in_proj_ba.weight", 2 * heads), spec.key_heads, {own, own});
  } else {
    parts = {whole_matrix(tensor(".in_proj_qkv.weight", spec.convolved())),
             whole_matrix(tensor(".in_proj_z.weight", spec.values())),
             whole_matrix(tensor(".in_proj_b.weight", heads)),
             whole_matrix(tensor(".in_proj_a.weight", heads))};
  }
  DeltaNetWeights out{
      .spec = spec,
      .input = stacked(parts, {}),
      .convolution = convolution(layer, spec.place + ".conv1d.weight", spec.convolved(),
                                 spec.kernel, /*biased=*/false),
      .rates = vector(layer, spec.place + ".A_log", heads),
      .rate_bias = vector(layer, spec.place + ".dt_bias", heads),
      .norm = norm_of_shape(
          {.kind = NormKind::rms, .epsilon = spec.epsilon, .tensor = spec.place + ".norm"}, layer,
          {spec.value_dim})};
  for (float& rate : out.rates) rate = spec.rates_stored ? -rate : std::exp(rate);
  for (const CheckpointTensor* read : tensors) model_.checkpoint().check_intact(*read);
  return out;
}

ShortConvolutionWeights MixerReader::read_short_convolution(
    std::int64_t layer, const ShortConvolutionSpec& spec) const {
  const std::int64_t width = spec_.dimensions.width;
  return {.input = whole(layer, spec.place + ".in_proj.weight", 3 * width, width, spec.biased),
          .convolution =
              convolution(layer, spec.place + ".conv.weight", width, spec.kernel, spec.biased)};
}

KimiDeltaWeights MixerReader::read_kimi_delta(std::int64_t layer, const KimiDeltaSpec& spec) const {
  const std::int64_t width = spec_.dimensions.width, channels = spec.channels();
  std::vector<const CheckpointTensor*> tensors;
  std::vector<TensorMatrix> parts;
  const auto add = [&](const char* name, std::int64_t outputs) {
    tensors.push_back(&matrix(layer, spec.place + name, outputs, width));
    parts.push_back(whole_matrix(tensors.back()->view));
  };
  for (const char* name : {".q_proj.weight", ".k_proj.weight", ".v_proj.weight"}) {
    add(name, channels);
  }
  add(".b_proj.weight", spec.heads);
  add(".f_a_proj.weight", spec.head_dim);
  add(".g_a_proj.weight", spec.head_dim);
  std::vector<CausalConvolution> own;
  for (const char* name : {".q_conv1d.weight", ".k_conv1d.weight", ".v_conv1d.weight"}) {
    own.push_back(convolution(layer, spec.place + name, channels, spec.kernel, /*biased=*/false));
  }
  const auto expand = [&](const char* name) {
    return whole(layer, spec.place + name, channels, spec.head_dim, /*biased=*/false);
  };
  KimiDeltaWeights out{
      .spec = spec,
      .input = stacked(parts, {}),
      .decay = expand(".f_b_proj.weight"),
      .gate = expand(".g_b_proj.weight"),
      .convolution = side_by_side(own),
      .rates = numbers(layer, spec.place + ".A_log", spec.heads),  // (1, 1, H, 1)
      .rate_bias = vector(layer, spec.place + ".dt_bias", channels),
      .norm = norm_of_shape(
          {.kind = NormKind::rms, .epsilon = spec.epsilon, .tensor = spec.place + ".o_norm"}, layer,
          {spec.head_dim})};
  for (float& rate : out.rates) rate = std::exp(rate);
  for (const CheckpointTensor* read : tensors) model_.checkpoint().check_intact(*read);
  return out;
}

RgLruWeights MixerReader::read_rg_lru(std::int64_t layer, const RgLruSpec& spec) const {
  const std::int64_t width = spec_.dimensions.width, of_block = spec.block_width();
  const auto branch = [&](const char* name) {
    return whole(layer, spec.place + name, spec.width, width, /*biased=*/true);
  };
  const auto gate = [&](const char* name) -> const CheckpointTensor& {
    const Shape shape{spec.blocks, of_block, of_block};
    return need(model_.find(name_in(layer, spec.place + name), shape), layer);
  };
  RgLruWeights out{.spec = spec,
                   .input = branch(".linear_x.weight"),
                   .gate = branch(".linear_y.weight"),
                   .convolution = convolution(layer, spec.place + ".conv_1d.weight", spec.width,
                                              spec.kernel, /*biased=*/true)};
  const CheckpointTensor& of_input = gate(".rg_lru.input_gate_weight");
  const CheckpointTensor& of_recurrence = gate(".rg_lru.recurrent_gate_weight");
  std::vector<float> biases[] = {
      numbers(layer, spec.place + ".rg_lru.input_gate_bias", spec.width),
      numbers(layer, spec.place + ".rg_lru.recurrent_gate_bias", spec.width)};
  for (std::int64_t block = 0; block < spec.blocks; ++block) {
    std::vector<TensorMatrix> parts;
    std::vector<float> bias;
    for (const CheckpointTensor* tensor : {&of_input, &of_recurrence}) {
      const TensorView& view = tensor->view;  // (blocks, inputs, outputs)
      parts.push_back({.tensor = view,
                       .rows = of_block,
                       .cols = of_block,
                       .first = block * view.stride(0),
                       .row_stride = view.stride(2),
                       .col_stride = view.stride(1),
                       .block_rows = of_block});
    }
    for (const std::vector<float>& all : biases) {
      bias.insert(bias.end(), all.begin() + block * of_block, all.begin() + (block + 1) * of_block);
    }
    out.gates.push_back(stacked(parts, std::move(bias)));
  }
  constexpr float kRate = 8;
  out.rates = vector(layer, spec.place + ".rg_lru.recurrent_param", spec.width);
  for (float& rate : out.rates) rate = kRate * softplus(rate);
  for (const CheckpointTensor* read : {&of_input, &of_recurrence}) {
    model_.checkpoint().check_intact(*read);
  }
  return out;
}

MambaWeights MixerReader::read_mamba(std::int64_t layer, const MambaSpec& spec) const {
  const std::int64_t channels = spec.channels, states = spec.state_dim;
  const auto norm_named = [&](const char* name, std::int64_t size) {
    return norm_of_shape(
        {.kind = NormKind::rms, .epsilon = spec.epsilon, .tensor = spec.place + name}, layer,
        {size});
  };
  MambaWeights out{.spec = spec,
                   .input = whole(layer, spec.place + ".in_proj.weight", 2 * channels,
                                  spec_.dimensions.width, spec.biased),
                   .convolution = convolution(layer, spec.place + ".conv1d.weight", channels,
                                              spec.kernel, spec.convolution_biased),
                   .parameters = whole(layer, spec.place + ".x_proj.weight",
                                       spec.step_rank + 2 * states, channels, /*biased=*/false),
                   .steps = whole(layer, spec.place + ".dt_proj.weight", channels, spec.step_rank,
                                  /*biased=*/true),
                   .step_norm = norm_named(".dt_layernorm", spec.step_rank),
                   .input_norm = norm_named(".b_layernorm", states),
                   .output_norm = norm_named(".c_layernorm", states),
                   .rates = Matrix<float>(states, channels),
                   .skip = vector(layer, spec.place + ".D", channels)};
  const std::vector<float> stored = values(matrix(layer, spec.place + ".A_log", channels, states));
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (std::int64_t k = 0; k < states; ++k) {
      out.rates(k, channel) = -std::exp(stored[static_cast<std::size_t>(channel * states + k)]);
    }
  }
  return out;
}

Mamba2Weights MixerReader::read_mamba2(std::int64_t layer, const Mamba2Spec& spec) const {
  Mamba2Weights out{
      .spec = spec,
      .input = whole(layer, spec.place + ".in_proj.weight", spec.projected(),
                     spec_.dimensions.width, spec.biased),
      .convolution = convolution(layer, spec.place + ".conv1d.weight", spec.convolved(),
                                 spec.kernel, spec.convolution_biased),
      .rates = vector(layer, spec.place + ".A_log", spec.heads),
      .step_bias = vector(layer, spec.place + ".dt_bias", spec.heads),
      .skip = vector(layer, spec.place + ".D", spec.heads),
      .gain = {}};
  for (float& rate : out.rates) rate = -std::exp(rate);
  if (spec.normalized) out.gain = vector(layer, spec.place + ".norm.weight", spec.channels());
  return out;
}

LightningWeights MixerReader::read_lightning(std::int64_t layer, const LightningSpec& spec) const {
  constexpr double kEpsilon = 1e-6, kSmall = 1e-5;
  const std::int64_t channels = spec.channels(), width = spec_.dimensions.width;
  const NormSpec norm{.kind = NormKind::rms, .epsilon = kEpsilon, .tensor = spec.place + ".norm"};
  const TensorView& view = matrix(layer, spec.place + ".qkv_proj.weight", 3 * channels, width).view;
  std::vector<TensorMatrix> parts;
  add_runs(parts, view, spec.heads, {spec.head_dim, spec.head_dim, spec.head_dim});
  LightningWeights out{.spec = spec,
                       .input = stacked(parts, {}),
                       .gate = whole(layer, spec.place + ".output_gate.weight", channels, width,
                                     /*biased=*/false),
                       .decays = {},
                       .norm = norm_of_shape(norm, layer, {channels})};
  const double last = static_cast<double>(spec_.dimensions.layers - 1) + kSmall;
  const double of_layer = 1 - static_cast<double>(layer) / last + kSmall;
  for (std::int64_t head = 1; head <= spec.heads; ++head) {
    const double rate =
        std::exp2(-8.0 * static_cast<double>(head) / static_cast<double>(spec.heads));
    out.decays.push_back(static_cast<float>(std::exp(-rate * of_layer)));
  }
  return out;
}

std::shared_ptr<const MixerWeights> MixerReader::read(std::int64_t layer,
                                                      const MixerSpec& spec) const {
  const std::int64_t width = spec_.dimensions.width;
  MixerWeights out;
  out.factor = static_cast<float>(spec.factor);
  if (spec.delta_net) {
    out.delta_net = read_delta_net(layer, *spec.delta_net);
    out.output = whole(layer, spec.delta_net->place + ".out_proj.weight", width,
                       spec.delta_net->values(), /*biased=*/false);
  } else if (spec.kimi_delta) {
    out.kimi_delta = read_kimi_delta(layer, *spec.kimi_delta);
    out.output = whole(layer, spec.kimi_delta->place + ".o_proj.weight", width,
                       spec.kimi_delta->channels(), /*biased=*/false);
  } else if (spec.rg_lru) {
    out.rg_lru = read_rg_lru(layer, *spec.rg_lru);
    out.output = whole(layer, spec.rg_lru->place + ".linear_out.weight", width, spec.rg_lru->width,
                       /*biased=*/true);
  } else if (spec.mamba) {
    out.mamba = read_mamba(layer, *spec.mamba);
    out.output = whole(layer, spec.mamba->place + ".out_proj.weight", width, spec.mamba->channels,
                       spec.mamba->biased);
  } else if (spec.mamba2) {
    out.mamba2 = read_mamba2(layer, *spec.mamba2);
    out.output = whole(layer, spec.mamba2->place + ".out_proj.weight", width,
                       spec.mamba2->channels(), spec.mamba2->output_biased);
  } else if (spec.lightning) {
    out.lightning = read_lightning(layer, *spec.lightning);
    out.output = whole(layer, spec.lightning->place + ".out_proj.weight", width,
                       spec.lightning->channels(), /*biased=*/false);
  } else {
    const ShortConvolutionSpec& own = *spec.short_convolution;
    out.short_convolution = read_short_convolution(layer, own);
    out.output = whole(layer, own.place + ".out_proj.weight", width, width, own.biased);
  }
  return std::make_shared<const MixerWeights>(std::move(out));
}

std::uint64_t mixer_weights_bytes(const Model& model) {
  const auto width = static_cast<std::uint64_t>(model.dimensions().width);
  std::uint64_t numbers = 0;
  for (const LayerSpec& layer : model.spec().layers) {
    if (!layer.mixer) continue;
    if (layer.mixer->delta_net) {
      const DeltaNetSpec& own = *layer.mixer->delta_net;
      numbers += width * static_cast<std::uint64_t>(own.projected() + own.values());
    } else if (layer.mixer->kimi_delta) {
      const KimiDeltaSpec& own = *layer.mixer->kimi_delta;
      numbers += width * static_cast<std::uint64_t>(own.projected() + own.channels()) +
                 static_cast<std::uint64_t>(2 * own.channels() * own.head_dim);
    } else if (layer.mixer->rg_lru) {
      const RgLruSpec& own = *layer.mixer->rg_lru;
      numbers += static_cast<std::uint64_t>(own.width) *
                 (3 * width + 2 * static_cast<std::uint64_t>(own.block_width()));
    } else if (layer.mixer->mamba) {
      const MambaSpec& own = *layer.mixer->mamba;
      const std::int64_t of_channel = 2 * own.step_rank + 3 * own.state_dim;
      numbers += static_cast<std::uint64_t>(own.channels) *
                 (3 * width + static_cast<std::uint64_t>(of_channel));
    } else if (layer.mixer->mamba2) {
      const Mamba2Spec& own = *layer.mixer->mamba2;
      numbers += width * static_cast<std::uint64_t>(own.projected() + own.channels());
    } else if (layer.mixer->lightning) {
      numbers += 5 * width * static_cast<std::uint64_t>(layer.mixer->lightning->channels());
    } else {
      numbers += 4 * width * width;
    }
  }
  return numbers * sizeof(float);
}

}  // namespace attnscope
