// Which hand-written kernels run. Each is compiled for every instruction set where it pays. On a
// CPU with none of these, LAPACK does the work. Tests compare the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attnscope {

/// A small value; copy it freely.
class Kernels {
 public:
  /// The kernels of this CPU's best instruction set.
  Kernels();

  /// Limited, for tests and comparisons: "avx2" or "none"; "" is the best. Throws Error(usage) for
  /// any other name.
  static Kernels named(std::string_view name);

  /// "AVX-512", "AVX2", "NEON", or "none".
  std::string_view instruction_set() const { return instruction_set_; }

  /// Whether there are any. If not, no function of kernels/ may be called.
  bool available() const { return instruction_set_ != "none"; }

  /// Index in the tables of kernels/dispatch.h.
  std::size_t table_index() const { return table_index_; }

 private:
  explicit Kernels(std::int64_t targets);

  std::string_view instruction_set_;
  std::size_t table_index_;
};

// What front ends give to every run as its kernels.

/// Those that ATTNSCOPE_KERNELS names, which holds them down for tests and comparisons; the best
/// without it. Throws Error(usage) as Kernels::named() does.
Kernels kernels_of_environment();

// Descriptions of the libraries that compute.

/// The BLAS library's own description: name, version, kernels chosen for this CPU.
std::string blas_description();

}  // namespace attnscope
