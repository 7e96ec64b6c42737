// Reading a mapped file that was cut meanwhile yields zeros, where the program asked for that.
#pragma once

#include <cstddef>
#include <span>

namespace attnscope {

/// Makes reads past the end of a cut file yield zeros in every GuardedRange of this process, by
/// handling SIGBUS. Faults outside of them go to the handler that was there before. Call it once
/// at the start, from the program and not from a library: signals are the program's own. A program
/// that embeds attnscope and does not call it is ended by SIGBUS when somebody cuts a file that it
/// is reading, as by any mapped file. One that installs a handler of its own afterwards must pass
/// on what it does not know. Later calls do nothing.
void install_bus_error_guard();

/// A range of mapped memory that the guard watches from construction to destruction; move-only.
/// There may be any number of them.
class GuardedRange {
 public:
  GuardedRange() = default;  // watches nothing
  explicit GuardedRange(std::span<const std::byte> bytes);
  ~GuardedRange();
  GuardedRange(GuardedRange&& other) noexcept;
  GuardedRange& operator=(GuardedRange&& other) noexcept;

  /// Whether zeros were read in place of bytes; stays true though the file may grow again.
  bool was_cut() const;

  struct Node;

 private:
  Node* node_ = nullptr;
};

}  // namespace attnscope
