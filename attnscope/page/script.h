// Runs attnscope's own script on untrusted data.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

namespace attnscope {

struct ScriptLimits {
  std::uint64_t memory_bytes = std::uint64_t{1} << 30;  // including the script's arguments
  double seconds = 60;                                  // CPU time of its thread
};

/// Whether this build can run scripts. False without Rust.
bool runs_scripts();

/// Runs `script` (JavaScript), then calls the global function of that name with `text` as a string
/// and each of `buffers` as an ArrayBuffer. Returns the function's string. Texts are UTF-8. The
/// script has only the language itself: no files, network or timers. Throws Stopped. Throws
/// Error(unsupported) if a limit is exceeded or this build runs no scripts. Throws
/// std::runtime_error for an exception of the script.
std::string call_script(std::string_view script, std::string_view function, std::string_view text,
                        std::span<const std::string_view> buffers, const std::stop_token& stop,
                        const ScriptLimits& limits = {});

}  // namespace attnscope
