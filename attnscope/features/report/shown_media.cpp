#include "attnscope/features/report/shown_media.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "attnscope/base/error.h"
#include "attnscope/forward/audio_embedding.h"
#include "attnscope/forward/patch_embedding.h"

namespace attnscope {
namespace {

/// The displayed value of one channel, from 0 to 255.
struct Levels {
  double scale = 1, shift = 0;

  double of(double value) const { return std::clamp(scale * value + shift, 0.0, 255.0); }
};

Levels levels_before(const ImagePreparation& preparation, std::size_t channel) {
  const double factor = preparation.factor.value_or(1);
  const double mean = preparation.mean ? (*preparation.mean)[channel] : 0;
  const double deviation = preparation.deviation ? (*preparation.deviation)[channel] : 1;
  return {.scale = deviation / factor, .shift = mean / factor};
}

Levels levels_between(std::span<const float> values) {
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  const double range = static_cast<double>(*largest) - static_cast<double>(*least);
  const double scale = range > 0 ? 255 / range : 0;
  return {.scale = scale, .shift = -scale * static_cast<double>(*least)};
}

/// Mean over rows and columns [first, last) of a channel.
double mean_of_block(const MediaInput& image, std::int64_t channel, std::int64_t first_row,
                     std::int64_t last_row, std::int64_t first_col, std::int64_t last_col) {
  const std::int64_t rows = image.shape[1], cols = image.shape[2];
  double sum = 0;
  for (std::int64_t row = first_row; row < last_row; ++row) {
    const auto from = static_cast<std::size_t>((channel * rows + row) * cols);
    for (std::int64_t col = first_col; col < last_col; ++col) {
      sum += static_cast<double>(image.values[from + static_cast<std::size_t>(col)]);
    }
  }
  return sum / static_cast<double>((last_row - first_row) * (last_col - first_col));
}

std::vector<std::string> names_of_rows(const PatchSpec& spec) {
  std::vector<std::string> names;
  for (const std::string& tensor : spec.rule.tokens) {
    const bool teacher = tensor.find("distillation") != std::string::npos;
    names.emplace_back(teacher ? "distillation token" : "class token");
  }
  for (std::int64_t number = 0; number < spec.registers; ++number) {
    names.push_back("register " + std::to_string(number));
  }
  return names;
}

/// Whether the audio is given as samples, not features.
bool is_wave(const MediaInput& audio) { return audio.shape.size() == 1; }

double seconds_of(const MediaInput& audio) {
  constexpr double kSamplesPerSecond = 16000, kFramesPerSecond = 100;
  return static_cast<double>(audio.shape.back()) /
         (is_wave(audio) ? kSamplesPerSecond : kFramesPerSecond);
}

/// Converts (frames, features) to (features, frames). Each frame holds two of 10 ms, if the number
/// of features is even.
MediaInput features_of_frames(const MediaInput& audio) {
  const std::int64_t together = audio.shape[1] % 2 == 0 ? 2 : 1;
  const std::int64_t features = audio.shape[1] / together, frames = audio.shape[0] * together;
  MediaInput out{.shape = {features, frames}, .values = {}};
  for (std::int64_t feature = 0; feature < features; ++feature) {
    for (std::int64_t frame = 0; frame < frames; ++frame) {
      out.values.push_back(audio.values[static_cast<std::size_t>(frame * features + feature)]);
    }
  }
  return out;
}

}  // namespace

ShownImage shown_image(const MediaInput& image, const PatchGrid& grid, std::int64_t patch,
                       const std::optional<ImagePreparation>& preparation) {
  constexpr std::int64_t kLongestSide = 640;
  const std::int64_t all_rows = grid.rows * patch, all_cols = grid.cols * patch;
  ShownImage shown{.rows = std::min(all_rows, kLongestSide),
                   .cols = std::min(all_cols, kLongestSide),
                   .bytes = {},
                   .grid = grid,
                   .names = {}};
  const bool gray = image.shape[0] < 3;
  const bool known = preparation.has_value() && image.shape[0] == 3;
  std::vector<Levels> levels;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    levels.push_back(known ? levels_before(*preparation, channel) : levels_between(image.values));
  }
  for (std::int64_t row = 0; row < shown.rows; ++row) {
    for (std::int64_t col = 0; col < shown.cols; ++col) {
      for (std::size_t channel = 0; channel < 3; ++channel) {
        const double mean =
            mean_of_block(image, gray ? 0 : static_cast<std::int64_t>(channel),
                          all_rows * row / shown.rows, all_rows * (row + 1) / shown.rows,
                          all_cols * col / shown.cols, all_cols * (col + 1) / shown.cols);
        shown.bytes += static_cast<char>(std::lround(levels[channel].of(mean)));
      }
    }
  }
  return shown;
}

ShownText shown_frames(const MediaInput& audio, std::int64_t rows) {
  ShownText shown;
  const bool is_image = audio.shape.size() == 3;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (is_image) {
      shown.ids.push_back(row);
      continue;
    }
    const double begins = seconds_of(audio) * static_cast<double>(row) / static_cast<double>(rows);
    shown.ids.push_back(row);
    shown.texts.push_back(fmt::format("{:.2f} s", begins));
  }
  return shown;
}

ShownAudio shown_audio(const MediaInput& audio, std::int64_t rows) {
  const bool wave = is_wave(audio);
  const std::int64_t features = wave ? 1 : audio.shape[0], steps = audio.shape.back();
  ShownAudio shown{.seconds = seconds_of(audio), .levels = {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = steps * row / rows;
    const std::int64_t last = std::max(first + 1, steps * (row + 1) / rows);
    double sum = 0;
    for (std::int64_t feature = 0; feature < features; ++feature) {
      for (std::int64_t step = first; step < last; ++step) {
        const double value = audio.values[static_cast<std::size_t>(feature * steps + step)];
        sum += wave ? value * value : value;
      }
    }
    const double mean = sum / static_cast<double>((last - first) * features);
    shown.levels.push_back(wave ? std::sqrt(mean) : mean);
  }
  const auto [found, largest] = std::minmax_element(shown.levels.begin(), shown.levels.end());
  const double least = wave ? 0 : *found, range = *largest - least;
  for (double& level : shown.levels) level = range > 0 ? (level - least) / range : 0;
  return shown;
}

void add_media_input(const Model& model, const MediaInput& media_input, ReportFile& file) {
  const std::optional<PatchSpec>& patches = model.spec().stream.patches;
  if (!patches) {
    const bool frames_first = model.spec().stream.audio->frames_first;
    return file.add_audio(model.name(),
                          shown_audio(frames_first ? features_of_frames(media_input) : media_input,
                                      rows_of_audio(model, media_input)));
  }
  std::optional<ImagePreparation> preparation;
  try {
    preparation = read_image_preparation(model.checkpoint().folder());
  } catch (const Error&) {  // pixel values were given, which need no preparation
  }
  ShownImage image =
      shown_image(media_input, grid_of_image(model, media_input), patches->size, preparation);
  image.names = names_of_rows(*patches);
  file.add_shown_image(model.name(), image);
}

}  // namespace attnscope
