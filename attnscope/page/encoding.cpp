#include "attnscope/page/encoding.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

namespace attnscope {

std::string gzip(std::string_view bytes) {
  constexpr int kGzipWindow = 15 + 16, kMemoryLevel = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  // zlib counts in 32 bits, so the input is given in parts.
  constexpr std::size_t kPart = std::size_t{1} << 28;
  std::string out;
  std::string room(std::size_t{1} << 16, '\0');
  std::size_t at = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::size_t count = std::min(kPart, bytes.size() - at);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));
      stream.avail_in = static_cast<uInt>(count);
      at += count;
    }
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    status = deflate(&stream, at == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    out.append(room.data(), room.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

std::string byte_planes(std::span<const float> numbers) {
  std::string out(4 * numbers.size(), '\0');
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const auto bits = std::bit_cast<std::uint32_t>(numbers[at]);
    for (std::size_t plane = 0; plane < 4; ++plane) {
      out[plane * numbers.size() + at] = static_cast<char>(bits >> (8 * plane) & 0xFF);
    }
  }
  return out;
}

std::uint8_t weight_byte(float weight) {
  if (!(weight > 0)) return 0;
  constexpr double kOctaves = 16, kSteps = 254;
  const double step = std::round(kSteps * (std::log2(weight) + kOctaves) / kOctaves);
  return static_cast<std::uint8_t>(1 + std::clamp(step, 0.0, kSteps));
}

std::uint8_t signed_byte(double number, double limit) {
  if (!(limit > 0) || !std::isfinite(number)) return 128;
  return static_cast<std::uint8_t>(128 + std::lround(127 * std::clamp(number / limit, -1.0, 1.0)));
}

}  // namespace attnscope
