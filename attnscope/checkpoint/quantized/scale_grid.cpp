#include "attnscope/checkpoint/quantized/scale_grid.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/quantized/bit_packing.h"
#include "attnscope/checkpoint/quantized/rounding.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/low_precision.h"

namespace attnscope {
namespace {

/// Half of the range of `bits` bits: the offset of packed numbers.
float offset_of(int bits) { return static_cast<float>(1 << (bits - 1)); }

void read_packed(const GridCodes& codes, const std::byte* row, std::int64_t first,
                 std::span<float> out) {
  constexpr std::size_t kChunk = 512;
  std::array<std::uint8_t, kChunk> numbers;
  const float offset = offset_of(codes.bits);
  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    const std::size_t count = std::min(kChunk, out.size() - done);
    unpack_bits(codes.packing, codes.bits, row, first + static_cast<std::int64_t>(done),
                {numbers.data(), count});
    float* to = out.data() + done;
    for (std::size_t at = 0; at < count; ++at) to[at] = static_cast<float>(numbers[at]) - offset;
  }
}

void read_codes(const GridCodes& codes, const std::byte* row, std::int64_t first,
                std::span<float> out) {
  if (codes.bits > 0) return read_packed(codes, row, first, out);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(row) + first;
  float* to = out.data();
  if (codes.tensor.dtype == DType::i8) {
    for (std::size_t at = 0; at < out.size(); ++at) {
      to[at] = static_cast<float>(static_cast<std::int8_t>(bytes[at]));
    }
    return;
  }
  const std::array<float, 256>& values = float8_values(codes.tensor.dtype);
  for (std::size_t at = 0; at < out.size(); ++at) to[at] = values[bytes[at]];
}

/// Decodes the zero points of one row of the grid.
void read_zeros(const GridZeros& zeros, std::int64_t grid_row, std::span<float> out) {
  const std::int64_t count = std::ssize(out);
  std::vector<std::uint8_t> numbers(out.size());
  if (zeros.bits > 0) {
    unpack_down_columns(zeros.packing, zeros.bits, zeros.tensor.bytes.data(), count, grid_row, 0,
                        numbers);
    for (std::size_t at = 0; at < out.size(); ++at) {
      out[at] = static_cast<float>(numbers[at]) - offset_of(zeros.bits);
    }
    return;
  }
  std::memcpy(numbers.data(), zeros.tensor.bytes.data() + grid_row * count, out.size());
  for (std::size_t at = 0; at < out.size(); ++at) {
    out[at] = static_cast<float>(static_cast<std::int8_t>(numbers[at]));
  }
}

void scale_run(std::span<float> codes, float zero, float scale, float factor) {
  for (float& value : codes) value = (value - zero) * scale * factor;
}

}  // namespace

std::int64_t GridCodes::row_bytes(std::int64_t cols) const {
  return bits == 0 ? cols : packed_words(packing, bits, cols) * kWordBytes;
}

void ScaleGrid::decode(std::int64_t first_row, std::int64_t first_col,
                       MatrixView<float> out) const {
  const ScaleGridParts& parts = parts_;
  const std::int64_t row_bytes = parts.codes.row_bytes(parts.cols);
  const auto groups = static_cast<std::size_t>(parts.groups.count);
  std::vector<float> scales(groups), zeros(groups, 0);
  std::vector<std::int64_t> group_of(parts.groups.listed ? static_cast<std::size_t>(out.cols) : 0);
  if (parts.groups.listed) parts.groups.read(first_col, group_of);
  std::int64_t grid_row = -1;
  for (std::int64_t at = 0; at < out.rows; ++at) {
    const std::int64_t row = first_row + at;
    if (row / parts.block_rows != grid_row) {
      grid_row = row / parts.block_rows;
      decode_elements(parts.scales, grid_row * parts.groups.count, 1, parts.groups.count,
                      scales.data());
      if (parts.zeros) read_zeros(*parts.zeros, grid_row, zeros);
    }
    const std::span<float> line(out.data + at * out.row_stride, static_cast<std::size_t>(out.cols));
    read_codes(parts.codes, parts.codes.tensor.bytes.data() + row * row_bytes, first_col, line);
    for (std::int64_t col = 0; col < out.cols;) {
      std::int64_t count = 1;
      std::size_t group = 0;
      if (parts.groups.listed) {
        group = static_cast<std::size_t>(group_of[static_cast<std::size_t>(col)]);
      } else {
        const std::int64_t each = parts.groups.columns_each;
        group = static_cast<std::size_t>((first_col + col) / each);
        count = std::min(out.cols - col, each - (first_col + col) % each);
      }
      scale_run(line.subspan(static_cast<std::size_t>(col), static_cast<std::size_t>(count)),
                zeros[group], scales[group], parts.factor);
      col += count;
    }
    round_values(parts.dtype, line);
  }
}

std::vector<std::span<const std::byte>> ScaleGrid::reads(std::int64_t first_row, std::int64_t rows,
                                                         std::int64_t, std::int64_t) const {
  const auto lines = [](std::span<const std::byte> bytes, std::int64_t first, std::int64_t count,
                        std::int64_t bytes_each) {
    return bytes.subspan(static_cast<std::size_t>(first * bytes_each),
                         static_cast<std::size_t>(count * bytes_each));
  };
  const ScaleGridParts& parts = parts_;
  const std::int64_t first_grid_row = first_row / parts.block_rows;
  const std::int64_t grid_rows =
      rows == 0 ? 0 : (first_row + rows - 1) / parts.block_rows + 1 - first_grid_row;
  const std::int64_t scale_bytes = dtype_info(parts.scales.dtype).bits / 8;
  std::vector<std::span<const std::byte>> out = {
      lines(parts.codes.tensor.bytes, first_row, rows, parts.codes.row_bytes(parts.cols)),
      lines(parts.scales.bytes, first_grid_row, grid_rows, parts.groups.count * scale_bytes)};
  if (parts.zeros && parts.zeros->bits > 0) {
    out.push_back(parts.zeros->tensor.bytes);  // a word contains numbers of several rows
  } else if (parts.zeros) {
    out.push_back(lines(parts.zeros->tensor.bytes, first_grid_row, grid_rows, parts.groups.count));
  }
  if (parts.groups.listed) out.push_back(parts.groups.listed->bytes);
  return out;
}

void ColumnGroups::read(std::int64_t first, std::span<std::int64_t> out) const {
  for (std::size_t at = 0; at < out.size(); ++at) {
    const std::int64_t col = first + static_cast<std::int64_t>(at);
    if (!listed) {
      out[at] = col / columns_each;
      continue;
    }
    out[at] = static_cast<std::int32_t>(load_word(listed->bytes.data() + 4 * col));
    if (out[at] >= 0 && out[at] < count) continue;
    throw Error(ErrorKind::format,
                {.file = file,
                 .tensor = tensor,
                 .problem = "column " + std::to_string(col) + " belongs to group " +
                            std::to_string(out[at]) +
                            (count == 1 ? ", but there is only " : ", but there are only ") +
                            counted(count, "group")});
  }
}

}  // namespace attnscope
