// Runs a script of our own on data that may be hostile.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace attnscope {

struct ScriptLimits {
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  // what it is given is among them
  double seconds = 60;                                  // of work, by the clock of its thread
};

/// False in a build without Rust.
bool runs_scripts();

/// Runs `script` (JavaScript), then the global function of that name, with `text` as a string and
/// each of `buffers` as an ArrayBuffer of its own; gives the string that the function returns.
/// Texts are UTF-8. The script sees the language and nothing else: no files, no network, no timers.
/// Throws Stopped; Error(unsupported) where a limit is passed, or scripts do not run at all;
/// std::runtime_error with what the script throws.
std::string call_script(std::string_view script, std::string_view function, std::string_view text,
                        std::span<const std::string_view> buffers, const std::stop_token& stop,
                        const ScriptLimits& limits = {});

}  // namespace attnscope
