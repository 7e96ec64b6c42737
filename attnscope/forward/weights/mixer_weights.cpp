#include "attnscope/forward/weights/mixer_weights.h"

#include <cmath>
#include <utility>

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

std::shared_ptr<const MixerWeights> MixerReader::read(std::int64_t layer,
                                                      const MixerSpec& spec) const {
  const std::int64_t width = spec_.dimensions.width;
  MixerWeights out;
  if (spec.delta_net) {
    out.delta_net = read_delta_net(layer, *spec.delta_net);
    out.output = whole(layer, spec.delta_net->place + ".out_proj.weight", width,
                       spec.delta_net->values(), /*biased=*/false);
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
    } else {
      numbers += 4 * width * width;
    }
  }
  return numbers * sizeof(float);
}

}  // namespace attnscope
