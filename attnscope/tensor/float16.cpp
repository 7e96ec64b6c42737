#include "attnscope/tensor/float16.h"

#include <cstring>

namespace attnscope {
namespace {

template <class T>
[[gnu::always_inline]] inline void decode_line(const std::byte* at, std::int64_t count, T* out) {
  for (std::int64_t index = 0; index < count; ++index) {
    std::uint16_t bits;
    std::memcpy(&bits, at + 2 * index, sizeof bits);
    if constexpr (std::endian::native == std::endian::big) {
      bits = static_cast<std::uint16_t>(bits << 8 | bits >> 8);
    }
    out[index] = static_cast<T>(f16_to_float(bits));
  }
}

#ifdef __x86_64__
/// The same with vectors of twice the width, where the CPU has them: half as many steps.
template <class T>
[[gnu::target("avx2")]] void decode_line_avx2(const std::byte* at, std::int64_t count, T* out) {
  decode_line(at, count, out);
}
#endif

}  // namespace

template <class T>
void decode_f16(const std::byte* at, std::int64_t count, T* out) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return decode_line_avx2(at, count, out);
#endif
  decode_line(at, count, out);
}

template void decode_f16(const std::byte*, std::int64_t, float*);
template void decode_f16(const std::byte*, std::int64_t, double*);

}  // namespace attnscope
