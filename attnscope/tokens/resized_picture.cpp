#include "attnscope/tokens/resized_picture.h"

#include <algorithm>

namespace attnscope {
namespace {

constexpr int kFractionBits = 32 - 8 - 2;  // of weights as integers

struct ByteTaps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<ByteTaps> byte_taps(ResampleFilter filter, std::int64_t from, std::int64_t to) {
  std::vector<ByteTaps> out;
  for (const ResampleTaps& taps : resample_taps(filter, from, to)) {
    ByteTaps& own = out.emplace_back(ByteTaps{.first = taps.first, .weights = {}});
    for (const double weight : taps.weights) {
      const double scaled = weight * (1 << kFractionBits);
      own.weights.push_back(static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
  }
  return out;
}

/// The weighted sum of bytes, of which each is `step` after the one before it.
std::uint8_t weighted(const ByteTaps& taps, const std::uint8_t* from, std::int64_t step) {
  std::int64_t sum = std::int64_t{1} << (kFractionBits - 1);
  for (const std::int32_t weight : taps.weights) {
    sum += std::int64_t{weight} * *from;
    from += step;
  }
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kFractionBits, 0, 255));
}

Picture with_cols(const Picture& picture, std::int64_t cols, ResampleFilter filter) {
  const std::vector<ByteTaps> taps = byte_taps(filter, picture.cols, cols);
  Picture out{.rows = picture.rows, .cols = cols, .rgb = {}};
  out.rgb.resize(static_cast<std::size_t>(out.rows * cols) * 3);
  for (std::int64_t row = 0; row < out.rows; ++row) {
    std::uint8_t* to = out.row(row);
    for (const ByteTaps& of : taps) {
      for (int channel = 0; channel < 3; ++channel) {
        *to++ = weighted(of, picture.row(row) + 3 * of.first + channel, 3);
      }
    }
  }
  return out;
}

Picture with_rows(const Picture& picture, std::int64_t rows, ResampleFilter filter) {
  const std::vector<ByteTaps> taps = byte_taps(filter, picture.rows, rows);
  const std::int64_t line = 3 * picture.cols;
  Picture out{.rows = rows, .cols = picture.cols, .rgb = {}};
  out.rgb.resize(static_cast<std::size_t>(rows * line));
  for (std::int64_t row = 0; row < rows; ++row) {
    const ByteTaps& of = taps[static_cast<std::size_t>(row)];
    std::uint8_t* to = out.row(row);
    for (std::int64_t at = 0; at < line; ++at) {
      *to++ = weighted(of, picture.row(of.first) + at, line);
    }
  }
  return out;
}

}  // namespace

Picture resized(const Picture& picture, std::int64_t rows, std::int64_t cols,
                ResampleFilter filter) {
  const bool rows_first = rows < picture.rows && picture.rows - rows > 2 * (picture.cols - cols);
  Picture out = rows_first ? with_rows(picture, rows, filter) : picture;
  if (cols != out.cols) out = with_cols(out, cols, filter);
  return rows == out.rows ? out : with_rows(out, rows, filter);
}

Signal resized_numbers(const Signal& image, std::int64_t rows, std::int64_t cols,
                       ResampleFilter filter) {
  const std::int64_t channels = image.shape[0], old_rows = image.shape[1],
                     old_cols = image.shape[2];
  const auto of_cols = resample_taps(filter, old_cols, cols);
  const auto of_rows = resample_taps(filter, old_rows, rows);
  std::vector<float> narrow(static_cast<std::size_t>(channels * old_rows * cols));
  for (std::int64_t line = 0; line < channels * old_rows; ++line) {
    for (std::int64_t col = 0; col < cols; ++col) {
      const ResampleTaps& taps = of_cols[static_cast<std::size_t>(col)];
      const float* from = image.values.data() + line * old_cols + taps.first;
      double sum = 0;
      for (const double weight : taps.weights) sum += weight * static_cast<double>(*from++);
      narrow[static_cast<std::size_t>(line * cols + col)] = static_cast<float>(sum);
    }
  }
  Signal out{.shape = {channels, rows, cols}, .values = {}};
  out.values.reserve(static_cast<std::size_t>(channels * rows * cols));
  for (std::int64_t line = 0; line < channels * rows; ++line) {
    const ResampleTaps& taps = of_rows[static_cast<std::size_t>(line % rows)];
    const float* above = narrow.data() + (line / rows * old_rows + taps.first) * cols;
    for (std::int64_t col = 0; col < cols; ++col) {
      double sum = 0;
      const float* from = above + col;
      for (const double weight : taps.weights) {
        sum += weight * static_cast<double>(*from);
        from += cols;
      }
      out.values.push_back(static_cast<float>(sum));
    }
  }
  return out;
}

}  // namespace attnscope
