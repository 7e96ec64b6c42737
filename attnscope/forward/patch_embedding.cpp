#include "attnscope/forward/patch_embedding.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/forward/layer_run.h"
#include "attnscope/inputs/image/resize.h"

namespace attnscope {
namespace {

std::string size_text(std::int64_t rows, std::int64_t cols) {
  return std::to_string(rows) + " × " + std::to_string(cols);
}

[[noreturn]] void refuse_image(const std::string& problem) {
  throw Error(ErrorKind::usage, {.problem = problem});
}

void check_image(const Model& model, const MediaInput& image) {
  if (!model.spec().stream.patches) {
    refuse_image(model.name() + " does not take images");
  }
  const PatchSpec& spec = *model.spec().stream.patches;
  const auto& shape = image.shape;
  if (shape.size() != 3 || shape[0] != spec.channels || shape[1] < spec.size ||
      shape[2] < spec.size) {
    std::string own;
    for (const std::int64_t axis : shape) own += (own.empty() ? "" : " × ") + std::to_string(axis);
    refuse_image("an image of shape " + own + ": expected " + std::to_string(spec.channels) +
                 " channels and at least one patch (" + size_text(spec.size, spec.size) +
                 " pixels) for " + model.name());
  }
  const bool any_size = spec.rule.other_sizes != OtherSizes::refused;
  if (!any_size && (shape[1] != spec.image_rows || shape[2] != spec.image_cols)) {
    refuse_image("an image of " + size_text(shape[1], shape[2]) + " pixels: " + model.name() +
                 " takes only " + size_text(spec.image_rows, spec.image_cols) + " pixels");
  }
  const auto wrong = std::find_if(image.values.begin(), image.values.end(),
                                  [](float value) { return !std::isfinite(value); });
  if (wrong != image.values.end()) {
    refuse_image("value " + std::to_string(wrong - image.values.begin()) +
                 " of the image is NaN or infinite");
  }
}

/// Copies a patch for the projection: channel by channel, each row by row; or all channels of each
/// pixel.
void cut_patch(const MediaInput& image, const PatchSpec& spec, std::int64_t row, std::int64_t col,
               float* out) {
  const std::int64_t rows = image.shape[1], cols = image.shape[2];
  if (spec.rule.channels_last) {
    for (std::int64_t pixel = 0; pixel < spec.size * spec.size; ++pixel) {
      const std::int64_t from =
          (row * spec.size + pixel / spec.size) * cols + col * spec.size + pixel % spec.size;
      for (std::int64_t channel = 0; channel < spec.channels; ++channel) {
        *out++ = image.values[static_cast<std::size_t>(channel * rows * cols + from)];
      }
    }
    return;
  }
  for (std::int64_t channel = 0; channel < spec.channels; ++channel) {
    for (std::int64_t line = 0; line < spec.size; ++line) {
      const std::int64_t from = (channel * rows + row * spec.size + line) * cols + col * spec.size;
      out = std::copy_n(image.values.data() + from, spec.size, out);
    }
  }
}

/// Returns the position embeddings of an image's patches, (rows · cols, D): the learned ones, or
/// interpolated between them.
Matrix<float> positions_of(const PatchSpec& spec, const Matrix<float>& learned,
                           const PatchGrid& grid) {
  const std::int64_t down = spec.image_rows / spec.size, across = spec.image_cols / spec.size;
  const std::int64_t width = learned.cols();
  const auto taps = [&](std::int64_t from, std::int64_t to) {
    switch (spec.rule.other_sizes) {
      case OtherSizes::wide_cubic: return resample_taps(ResampleFilter::bicubic, from, to);
      case OtherSizes::wide_linear: return resample_taps(ResampleFilter::bilinear, from, to);
      default: return plain_cubic_taps(from, to);
    }
  };
  const std::vector<ResampleTaps> of_rows = taps(down, grid.rows),
                                  of_cols = taps(across, grid.cols);
  Matrix<float> out(grid.patches(), width);
  std::vector<double> sums(static_cast<std::size_t>(width));
  for (std::int64_t row = 0; row < grid.rows; ++row) {
    const ResampleTaps& row_taps = of_rows[static_cast<std::size_t>(row)];
    for (std::int64_t col = 0; col < grid.cols; ++col) {
      const ResampleTaps& col_taps = of_cols[static_cast<std::size_t>(col)];
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::size_t y = 0; y < row_taps.weights.size(); ++y) {
        for (std::size_t x = 0; x < col_taps.weights.size(); ++x) {
          const double weight = row_taps.weights[y] * col_taps.weights[x];
          const float* from = &learned((row_taps.first + static_cast<std::int64_t>(y)) * across +
                                           col_taps.first + static_cast<std::int64_t>(x),
                                       0);
          for (std::size_t at = 0; at < sums.size(); ++at) {
            sums[at] += weight * static_cast<double>(from[at]);
          }
        }
      }
      float* to = &out(row * grid.cols + col, 0);
      for (std::size_t at = 0; at < sums.size(); ++at) to[at] = static_cast<float>(sums[at]);
    }
  }
  return out;
}

void add_to(float* row, const float* other, std::int64_t cols) {
  for (std::int64_t col = 0; col < cols; ++col) row[col] += other[col];
}

}  // namespace

PatchGrid grid_of_image(const Model& model, const MediaInput& image) {
  check_image(model, image);
  const PatchSpec& spec = *model.spec().stream.patches;
  return {.before = static_cast<std::int64_t>(spec.rule.tokens.size()) + spec.registers,
          .rows = image.shape[1] / spec.size,
          .cols = image.shape[2] / spec.size};
}

PreparedStates embed_images(const Model& model, const ForwardWeights& weights,
                            std::span<const MediaInput> images, const Compute& compute) {
  if (images.empty()) refuse_image("no image given");
  const PatchSpec& spec = *model.spec().stream.patches;
  const PatchGrid grid = grid_of_image(model, images.front());
  const std::int64_t width = model.spec().dimensions_of(0).width;
  const PatchWeights& of = *weights.patches;
  Matrix<float> positions;
  if (of.positions.rows() > 0) positions = positions_of(spec, of.positions, grid);

  const auto count = static_cast<std::int64_t>(images.size());
  PreparedStates out{.states = Matrix<float>(count * grid.length(), width), .grid = grid};
  Matrix<float> pixels(grid.patches(), spec.channels * spec.size * spec.size);
  std::int64_t first = 0;
  for (const MediaInput& image : images) {
    check_image(model, image);
    if (image.shape != images.front().shape) refuse_image("the images have different sizes");
    for (std::int64_t patch = 0; patch < grid.patches(); ++patch) {
      cut_patch(image, spec, patch / grid.cols, patch % grid.cols, &pixels(patch, 0));
    }
    const MatrixView<float> own = out.states.view().row_block(first, grid.length());
    const MatrixView<float> patches = own.row_block(grid.before, grid.patches());
    if (grid.before > 0) std::copy_n(of.before.data(), grid.before * width, &own(0, 0));
    apply(*of.projection, pixels.view(),
          {.add = spec.rule.positions_after_norm ? MatrixView<float>{} : positions.view()}, patches,
          compute);
    out.lengths.push_back(grid.length());
    first += grid.length();
  }
  if (weights.embedding_norm) {
    apply_norm(*weights.embedding_norm, out.states.view(), out.states.view(), compute);
  }
  for (std::int64_t row = 0; spec.rule.positions_after_norm && row < out.states.rows(); ++row) {
    if (positions.rows() == 0) break;
    add_to(&out.states(row, 0), &positions(row % grid.patches(), 0), width);
  }
  return out;
}

RotaryTable patch_rotary_table(double base, std::int64_t head_dim, const PatchGrid& grid) {
  const std::int64_t each = head_dim / 4;  // rotary pairs per axis (row, column)
  RotaryTable table{.cos = Matrix<float>(grid.length(), 2 * each),
                    .sin = Matrix<float>(grid.length(), 2 * each)};
  for (std::int64_t row = 0; row < grid.before; ++row) {
    std::fill_n(&table.cos(row, 0), 2 * each, 1.0F);
    std::fill_n(&table.sin(row, 0), 2 * each, 0.0F);
  }
  const auto place = [](std::int64_t at, std::int64_t of) {
    const float center = (static_cast<float>(at) + 0.5F) / static_cast<float>(of);
    return 2 * center - 1;
  };
  constexpr auto kFullRotation = static_cast<float>(2 * std::numbers::pi);
  for (std::int64_t patch = 0; patch < grid.patches(); ++patch) {
    const float places[] = {place(patch / grid.cols, grid.rows),
                            place(patch % grid.cols, grid.cols)};
    for (std::int64_t pair = 0; pair < 2 * each; ++pair) {
      const float power = static_cast<float>(4 * (pair % each)) / static_cast<float>(head_dim);
      const float slowing = std::pow(static_cast<float>(base), power);
      const float angle = kFullRotation * places[pair / each] * (1 / slowing);
      table.cos(grid.before + patch, pair) =
          static_cast<float>(std::cos(static_cast<double>(angle)));
      table.sin(grid.before + patch, pair) =
          static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  }
  return table;
}

PatchWeights read_patch_weights(const TensorReader& reader, const PatchSpec& spec) {
  const Model& model = reader.model();
  const std::int64_t width = model.spec().dimensions_of(0).width;
  const PatchRule& rule = spec.rule;
  const auto site = [&](const std::string& name) -> const CheckpointTensor& {
    return reader.need(model.find(model.prefix() + name));
  };
  PatchWeights out;
  const std::string name = model.prefix() + rule.projection;
  const std::int64_t values = spec.channels * spec.size * spec.size;
  const Shape shape =
      rule.channels_last ? Shape{width, values} : Shape{width, spec.channels, spec.size, spec.size};
  const CheckpointTensor& taps = reader.need(model.find(name, shape));
  out.projection = reader.make_linear({reader.rows_of(taps)}, reader.bias_of(name, width),
                                      /*copied=*/false);

  const auto tokens = static_cast<std::int64_t>(rule.tokens.size());
  out.before = Matrix<float>(tokens + spec.registers, width);
  std::int64_t row = 0;
  for (const std::string& token : rule.tokens) {
    const Matrix<float> own = reader.rows_of_width(site(token), width);
    if (own.rows() != 1) reader.refuse("'" + token + "' must have exactly one row", std::nullopt);
    std::copy_n(own.data(), width, &out.before(row++, 0));
  }
  if (spec.registers > 0) {
    const Matrix<float> own = reader.rows_of_width(site(rule.registers), width);
    if (own.rows() != spec.registers) {
      reader.refuse("'" + rule.registers + "' does not have the " + std::to_string(spec.registers) +
                        " rows that " + model.spec().source + " specifies",
                    std::nullopt);
    }
    std::copy_n(own.data(), spec.registers * width, &out.before(row, 0));
  }
  if (rule.positions.empty()) return out;

  const std::int64_t patches = (spec.image_rows / spec.size) * (spec.image_cols / spec.size);
  const Matrix<float> all = reader.rows_of_width(site(rule.positions), width);
  if (all.rows() != tokens + patches) {
    reader.refuse("'" + rule.positions + "' has " + std::to_string(all.rows()) + " rows, not the " +
                      std::to_string(tokens + patches) + " that " + model.spec().source +
                      " specifies",
                  std::nullopt);
  }
  for (row = 0; row < tokens; ++row) add_to(&out.before(row, 0), &all(row, 0), width);
  out.positions = Matrix<float>(patches, width);
  std::copy_n(&all(tokens, 0), patches * width, out.positions.data());
  return out;
}

}  // namespace attnscope
