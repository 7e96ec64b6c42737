// Which of the kernels written by hand run. Each is compiled once for every instruction set that is
// worth it; where the CPU has none of these, LAPACK does the work. Tests hold both against each
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace attnscope {

/// A small value, equal in every thread.
class Kernels {
 public:
  /// Those of the best instruction set that this CPU has.
  Kernels();

  /// Held down, for tests and comparisons: "avx2" or "none"; the best for "". Throws Error(usage)
  /// for any other name.
  static Kernels named(std::string_view name);

  /// "AVX-512", "AVX2", "NEON", or "none".
  std::string_view instruction_set() const { return instruction_set_; }

  /// Whether there are any: without, no function of kernels/ may be called.
  bool available() const { return instruction_set_ != "none"; }

  /// Where these stand in the tables of kernels/dispatch.h.
  std::size_t table_index() const { return table_index_; }

 private:
  explicit Kernels(std::int64_t targets);

  std::string_view instruction_set_;
  std::size_t table_index_;
};

}  // namespace attnscope
