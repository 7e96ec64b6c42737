// Makes reads of a mapped file that has become shorter yield zeros, if the program asks for it.
#pragma once

#include <cstddef>
#include <span>

namespace attnscope {

/// Handles SIGBUS, so that reads past the end of a truncated file yield zeros in every GuardedRange
/// of this process. Other faults go to the previous handler. Call it once at the start, from the
/// program and not from a library, because signals belong to the program. Without this call, SIGBUS
/// ends a program when somebody truncates a file that it is reading, as with any mapped file. A
/// program that installs its own handler afterwards must pass on faults that it does not know.
/// Later calls do nothing.
void install_bus_error_guard();

/// A range of mapped memory that the guard watches while this object exists. Move-only.
class GuardedRange {
 public:
  GuardedRange() = default;  // watches nothing
  explicit GuardedRange(std::span<const std::byte> bytes);
  ~GuardedRange();
  GuardedRange(GuardedRange&& other) noexcept;
  GuardedRange& operator=(GuardedRange&& other) noexcept;

  /// Whether zeros were read in place of bytes. Stays true even if the file grows again.
  bool was_cut() const;

  struct Node;

 private:
  Node* node_ = nullptr;
};

}  // namespace attnscope
