// Memory for kernels: aligned, on huge pages if it is large, and reused for later matrices. Fresh
// pages would cost as much time as the arithmetic on a matrix of order 1000.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace attnscope {

template <class T>
class AlignedBuffer {
 public:
  /// Returns uninitialized memory for `count` elements. Invalidates the memory of earlier calls.
  T* reserve(std::size_t count) {
    if (count <= capacity_) return data_.get();
    data_.reset();
    capacity_ = 0;
    constexpr std::size_t kHugePage = std::size_t{2} << 20, kLine = 64;
    const std::size_t wanted = count * sizeof(T);
    const std::size_t alignment = wanted >= kHugePage ? kHugePage : kLine;
    const std::size_t bytes = (wanted + alignment - 1) / alignment * alignment;
    data_.reset(static_cast<T*>(std::aligned_alloc(alignment, bytes)));
    if (!data_) throw std::bad_alloc();
#ifdef __linux__
    if (alignment == kHugePage) madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
    capacity_ = bytes / sizeof(T);
    return data_.get();
  }

  /// Returns the memory of the last reserve().
  const T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
  std::size_t capacity_ = 0;
};

}  // namespace attnscope
