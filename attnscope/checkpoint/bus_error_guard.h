// Turns SIGBUS on a truncated memory-mapped file into zero-filled pages (opt-in).
#pragma once

#include <cstddef>
#include <span>

namespace attnscope {

/// Handles SIGBUS, so that reads past the end of a truncated file return zeros in every
/// GuardedRange of this process. Other faults go to the previous handler. Call it once at program
/// start, not from a library, because signal handlers belong to the program. Without this call,
/// SIGBUS ends the program if a mapped file is truncated while it is being read. A program that
/// later installs its own handler must pass on unknown faults. Further calls do nothing.
void install_bus_error_guard();

/// A range of mapped memory that is guarded while this object exists. Move-only.
class GuardedRange {
 public:
  GuardedRange() = default;  // guards nothing
  explicit GuardedRange(std::span<const std::byte> bytes);
  ~GuardedRange();
  GuardedRange(GuardedRange&& other) noexcept;
  GuardedRange& operator=(GuardedRange&& other) noexcept;

  /// Whether zeros were read instead of bytes. Stays true even if the file grows again.
  bool was_cut() const;

  struct Node;

 private:
  Node* node_ = nullptr;
};

}  // namespace attnscope
