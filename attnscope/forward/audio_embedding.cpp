#include "attnscope/forward/audio_embedding.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"
#include "attnscope/forward/patch_embedding.h"
#include "attnscope/numerics/inference/activations.h"

namespace attnscope {
namespace {

constexpr std::int64_t kMaxSamples = 16'000 * 60 * 10;  // ten minutes
constexpr std::int64_t kMaxFrames = 30'000;             // ten minutes of 20 ms each

[[noreturn]] void refuse_audio(const std::string& problem) {
  throw Error(ErrorKind::usage, {.problem = problem});
}

std::int64_t frames_of(const AudioSpec& spec, const MediaInput& audio) {
  return spec.frames_first ? audio.shape.front() : audio.shape.back();
}

std::int64_t frames_after(const AudioConvolution& layer, std::int64_t frames) {
  const std::int64_t room = frames + 2 * layer.padding - layer.kernel;
  return room < 0 ? 0 : room / layer.stride + 1;
}

/// Gathers the inputs of a convolution at output positions from `first` on. Each row has, for each
/// channel, the values at all taps. Values beyond the ends of the audio are 0.
void gather(MatrixView<const float> audio, std::int64_t first_channel, std::int64_t channels,
            const AudioConvolution& layer, std::int64_t first, MatrixView<float> out) {
  for (std::int64_t row = 0; row < out.rows; ++row) {
    const std::int64_t begin = (first + row) * layer.stride - layer.padding;
    for (std::int64_t tap = 0; tap < layer.kernel; ++tap) {
      const std::int64_t frame = begin + tap;
      const bool inside = frame >= 0 && frame < audio.rows;
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        out(row, channel * layer.kernel + tap) = inside ? audio(frame, first_channel + channel) : 0;
      }
    }
  }
}

/// Normalizes all channels and frames together, with a gain and a bias per channel. Source: torch,
/// GroupNorm with one group.
void norm_all(const NormWeights& norm, MatrixView<float> audio) {
  const auto count = static_cast<double>(audio.rows * audio.cols);
  double sum = 0, squares = 0;
  const auto visit = [&](const auto& use) {
    for (std::int64_t row = 0; row < audio.rows; ++row) {
      for (std::int64_t col = 0; col < audio.cols; ++col) use(audio(row, col), col);
    }
  };
  visit([&](float value, std::int64_t) { sum += static_cast<double>(value); });
  const double mean = sum / count;
  visit([&](float value, std::int64_t) {
    const double off = static_cast<double>(value) - mean;
    squares += off * off;
  });
  const double scale = 1 / std::sqrt(squares / count + norm.spec.epsilon);
  visit([&](float& value, std::int64_t channel) {
    const auto at = static_cast<std::size_t>(channel);
    const double unit = (static_cast<double>(value) - mean) * scale;
    value = static_cast<float>(unit * static_cast<double>(norm.gain[at]) +
                               static_cast<double>(norm.bias[at]));
  });
}

/// Normalizes each channel over the whole audio.
void norm_channels(const NormWeights& norm, MatrixView<float> audio) {
  const auto frames = static_cast<double>(audio.rows);
  for (std::int64_t channel = 0; channel < audio.cols; ++channel) {
    double sum = 0, squares = 0;
    for (std::int64_t row = 0; row < audio.rows; ++row)
      sum += static_cast<double>(audio(row, channel));
    const double mean = sum / frames;
    for (std::int64_t row = 0; row < audio.rows; ++row) {
      const double off = static_cast<double>(audio(row, channel)) - mean;
      squares += off * off;
    }
    const double scale = 1 / std::sqrt(squares / frames + norm.spec.epsilon);
    const auto at = static_cast<std::size_t>(channel);
    for (std::int64_t row = 0; row < audio.rows; ++row) {
      const double unit = (static_cast<double>(audio(row, channel)) - mean) * scale;
      audio(row, channel) = static_cast<float>(unit * static_cast<double>(norm.gain[at]) +
                                               static_cast<double>(norm.bias[at]));
    }
  }
}

Matrix<float> convolved(const AudioLayerWeights& weights, const AudioConvolution& layer,
                        MatrixView<const float> audio, const Compute& compute) {
  constexpr std::int64_t kRowsAtOnce = 1024;
  Matrix<float> out(frames_after(layer, audio.rows), layer.outputs);
  Matrix<float> position_convolution(std::min(kRowsAtOnce, out.rows()), audio.cols * layer.kernel);
  for (std::int64_t first = 0; first < out.rows(); first += kRowsAtOnce) {
    compute.check_stop();
    const std::int64_t count = std::min(kRowsAtOnce, out.rows() - first);
    const MatrixView<float> part = position_convolution.view().row_block(0, count);
    gather(audio, 0, audio.cols, layer, first, part);
    apply(*weights.taps, part, {}, out.view().row_block(first, count), compute);
  }
  if (weights.norm && layer.norm == AudioNorm::channels) norm_channels(*weights.norm, out.view());
  if (weights.norm && layer.norm == AudioNorm::frames) {
    apply_norm(*weights.norm, out.view(), out.view(), compute);
  }
  activate(layer.activation, out.view(), compute);
  if (weights.norm && layer.norm == AudioNorm::all) norm_all(*weights.norm, out.view());
  return out;
}

/// Adds position embeddings computed by a wide convolution of the rows. Source: transformers,
/// Wav2Vec2PositionalConvEmbedding.
void add_position_embeddings(const AudioWeights& weights, const AudioSpec& spec,
                             MatrixView<float> rows, const Compute& compute) {
  const std::int64_t groups = spec.position_convolution->groups, each = rows.cols / groups;
  const AudioConvolution layer{.name = {},
                               .kernel = spec.position_convolution->kernel,
                               .stride = 1,
                               .padding = spec.position_convolution->kernel / 2};
  Matrix<float> all(rows.rows, rows.cols), gathered(rows.rows, each * layer.kernel), part;
  for (std::int64_t group = 0; group < groups; ++group) {
    compute.check_stop();
    gather(rows, group * each, each, layer, 0, gathered.view());
    multiply_rows(gathered.view(),
                  weights.position_convolution.view().row_block(group * each, each), part, compute);
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      for (std::int64_t col = 0; col < each; ++col) {
        all(row, group * each + col) =
            part(row, col) +
            weights.position_convolution_bias[static_cast<std::size_t>(group * each + col)];
      }
    }
  }
  activate(spec.activation, all.view(), compute);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    for (std::int64_t col = 0; col < rows.cols; ++col) rows(row, col) += all(row, col);
  }
}

/// Reads the weight-normalized convolution (out, in / groups, kernel): v g / ‖v‖, with one norm per
/// tap.
void read_places(const TensorReader& reader, const AudioPositionConvolution& spec,
                 AudioWeights& out) {
  const Model& model = reader.model();
  const std::int64_t width = model.dimensions().width, each = width / spec.groups;
  const std::string name = model.prefix() + spec.name;
  const auto first_of = [&](const std::string& one, const std::string& other,
                            const Shape& shape) -> const CheckpointTensor& {
    const CheckpointTensor* found =
        model.checkpoint().find_first(std::vector{name + one, name + other});
    return reader.need(model.find(found == nullptr ? name + one : found->name, shape));
  };
  const CheckpointTensor& v =
      first_of(".parametrizations.weight.original1", ".weight_v", {width, each, spec.kernel});
  const CheckpointTensor& g =
      first_of(".parametrizations.weight.original0", ".weight_g", {1, 1, spec.kernel});
  out.position_convolution = Matrix<float>(width, each * spec.kernel);
  const std::vector<float> taps = reader.values(reader.rows_of(v));
  const Matrix<float> lengths = reader.rows_of_width(g, spec.kernel);
  std::vector<double> squares(static_cast<std::size_t>(spec.kernel));
  for (std::size_t at = 0; at < taps.size(); ++at) {
    const auto tap = static_cast<double>(taps[at]);
    squares[at % squares.size()] += tap * tap;
  }
  for (std::size_t at = 0; at < taps.size(); ++at) {
    const std::size_t tap = at % squares.size();
    out.position_convolution.data()[at] =
        static_cast<float>(static_cast<double>(taps[at]) *
                           static_cast<double>(lengths.data()[tap]) / std::sqrt(squares[tap]));
  }
  out.position_convolution_bias =
      reader.values(reader.need(model.find(name + ".bias", Shape{width})));
}

}  // namespace

AudioWeights read_audio_weights(const TensorReader& reader, const AudioSpec& spec) {
  const Model& model = reader.model();
  const std::int64_t width = model.dimensions().width;
  AudioWeights out;
  std::int64_t channels = spec.features;
  for (const AudioConvolution& layer : spec.convolutions) {
    const std::string name = model.prefix() + layer.name + ".weight";
    const CheckpointTensor& taps =
        reader.need(model.find(name, Shape{layer.outputs, channels, layer.kernel}));
    AudioLayerWeights& own = out.convolutions.emplace_back();
    own.taps = reader.make_linear({reader.rows_of(taps)}, reader.bias_of(name, layer.outputs),
                                  /*copied=*/false);
    if (layer.norm != AudioNorm::none) {
      const NormSpec norm{.epsilon = 1e-5, .tensor = layer.norm_name};
      own.norm = reader.norm(norm, 0, layer.outputs);
    }
    channels = layer.outputs;
  }
  out.projection_norm = reader.norm(spec.projection_norm, 0, channels);
  if (!spec.projection.empty()) {
    out.projection = reader.linear(model.prefix() + spec.projection, width, channels);
  }
  if (spec.position_convolution) read_places(reader, *spec.position_convolution, out);
  const std::string& positions = model.spec().stream.embedding.positions;
  if (positions.empty()) return out;
  const CheckpointTensor& table = reader.need(model.find(model.prefix() + positions));
  out.positions = reader.rows_of_width(table, width);
  return out;
}

std::int64_t rows_of_audio(const Model& model, const MediaInput& audio) {
  const AudioSpec& spec = *model.spec().stream.audio;
  const auto wrong = std::find_if(audio.values.begin(), audio.values.end(),
                                  [](float value) { return !std::isfinite(value); });
  if (wrong != audio.values.end()) {
    refuse_audio("value " + std::to_string(wrong - audio.values.begin()) +
                 " of the audio is NaN or infinite");
  }
  std::int64_t frames = 0;
  if (spec.of_waves) {
    if (audio.shape.size() != 1)
      refuse_audio(model.name() + " expects a waveform: one axis of samples");
    frames = audio.shape[0];
    if (frames > kMaxSamples) {
      refuse_audio(counted(frames, "sample") + " exceed the limit of " +
                   std::to_string(kMaxSamples) + " (10 minutes): shorten the audio");
    }
  } else {
    // Whisper has positions for a fixed number of frames.
    const auto context = model.dimensions().context;
    const std::string features = std::to_string(spec.features) + " features of ";
    const bool fits =
        audio.shape.size() == 2 && audio.shape[spec.frames_first ? 1 : 0] == spec.features;
    frames = fits ? frames_of(spec, audio) : 0;
    if (!fits || (context && frames != 2 * *context)) {
      refuse_audio(model.name() + " expects " + features +
                   (context ? std::to_string(2 * *context) + " frames"
                            : "each frame, with the frames on the first axis"));
    }
    if (frames > kMaxFrames) {
      refuse_audio(counted(frames, "frame") + " exceed the limit of " + std::to_string(kMaxFrames) +
                   ": shorten the audio");
    }
  }
  for (const AudioConvolution& layer : spec.convolutions) frames = frames_after(layer, frames);
  if (frames < 1) refuse_audio("the audio is too short for " + model.name());
  return frames;
}

std::int64_t rows_of_media(const Model& model, const MediaInput& media_input) {
  if (model.spec().stream.audio) return rows_of_audio(model, media_input);
  return grid_of_image(model, media_input).length();
}

PreparedStates embed_audio(const Model& model, const ForwardWeights& weights,
                           std::span<const MediaInput> audio_inputs, const Compute& compute) {
  if (audio_inputs.empty()) refuse_audio("no audio given");
  const AudioSpec& spec = *model.spec().stream.audio;
  const AudioWeights& of = *weights.audio;
  const std::int64_t width = model.dimensions().width;
  PreparedStates out;
  std::int64_t total = 0;
  for (const MediaInput& audio : audio_inputs) {
    out.lengths.push_back(rows_of_audio(model, audio));
    total += out.lengths.back();
  }
  out.states = Matrix<float>(total, width);
  std::int64_t first = 0;
  for (std::size_t at = 0; at < audio_inputs.size(); ++at) {
    const MediaInput& audio = audio_inputs[at];
    Matrix<float> rows(frames_of(spec, audio), spec.features);
    for (std::int64_t feature = 0; feature < spec.features; ++feature) {
      for (std::int64_t row = 0; row < rows.rows(); ++row) {
        const std::int64_t at =
            spec.frames_first ? row * spec.features + feature : feature * rows.rows() + row;
        rows(row, feature) = audio.values[static_cast<std::size_t>(at)];
      }
    }
    for (std::size_t layer = 0; layer < spec.convolutions.size(); ++layer) {
      rows = convolved(of.convolutions[layer], spec.convolutions[layer], rows.view(), compute);
    }
    if (of.projection_norm) apply_norm(*of.projection_norm, rows.view(), rows.view(), compute);
    const MatrixView<float> own = out.states.view().row_block(first, out.lengths[at]);
    if (of.projection != nullptr) {
      apply(*of.projection, rows.view(), {}, own, compute);
    } else {
      std::copy_n(rows.data(), own.rows * width, own.data);
    }
    if (spec.position_convolution) add_position_embeddings(of, spec, own, compute);
    for (std::int64_t row = 0; row < std::min(own.rows, of.positions.rows()); ++row) {
      for (std::int64_t col = 0; col < width; ++col) own(row, col) += of.positions(row, col);
    }
    first += own.rows;
  }
  if (weights.embedding_norm) {
    apply_norm(*weights.embedding_norm, out.states.view(), out.states.view(), compute);
  }
  return out;
}

}  // namespace attnscope
