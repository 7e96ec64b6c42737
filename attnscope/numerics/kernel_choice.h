// Choice of hand-written kernels. Each kernel is compiled for every instruction set for which it
// pays off. On other CPUs, LAPACK does the work. Tests compare the two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace attnscope {

/// A small value; copy it freely.
class Kernels {
 public:
  /// Chooses the kernels of this CPU's best instruction set.
  Kernels();

  /// Returns limited kernels, for tests and comparisons: "avx2" or "none". "" gives the best ones.
  /// Throws Error(usage) for any other name.
  static Kernels named(std::string_view name);

  /// "AVX-512", "AVX2", "NEON", or "none".
  std::string_view instruction_set() const { return instruction_set_; }

  /// Returns whether there are kernels. If not, no function of kernels/ may be called.
  bool available() const { return instruction_set_ != "none"; }

  /// Index in the tables of kernels/dispatch.h.
  std::size_t table_index() const { return table_index_; }

 private:
  explicit Kernels(std::int64_t targets);

  std::string_view instruction_set_;
  std::size_t table_index_;
};

// Kernels that front ends pass to every run.

/// Returns the kernels named by the environment variable ATTNSCOPE_KERNELS, for tests and
/// comparisons, or else the best ones. Throws Error(usage) like Kernels::named().
Kernels kernels_of_environment();

// Descriptions of numerical libraries.

/// Returns the BLAS library's own description: name, version, kernels chosen for this CPU.
std::string blas_description();

}  // namespace attnscope
