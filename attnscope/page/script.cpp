#include "attnscope/page/script.h"

#include <ctime>
#include <stdexcept>
#include <vector>

#include "attnscope/base/crate_bytes.h"
#include "attnscope/base/error.h"
#include "attnscope/page/rust_script.h"

namespace attnscope {
namespace {

script_bytes script_bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

/// CPU seconds of this thread, so that other programs do not count against a script.
double worked_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Ends a script when its time is over or a stop was requested.
struct Watch {
  const std::stop_token& stop;
  double end;  // in worked_seconds()

  static int ends(void* watch) {
    const auto& self = *static_cast<const Watch*>(watch);
    return self.stop.stop_requested() || worked_seconds() > self.end ? 1 : 0;
  }
};

/// "60 s", "0.5 s"
std::string seconds_text(double seconds) {
  std::string text = std::to_string(seconds);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}

[[noreturn]] void refuse(const std::string& problem, const std::string& hint) {
  throw Error(ErrorKind::unsupported, {.place = "charts", .problem = problem, .hint = hint});
}

}  // namespace

bool runs_scripts() { return script_present() != 0; }

std::string call_script(std::string_view script, std::string_view function, std::string_view text,
                        std::span<const std::string_view> buffers, const std::stop_token& stop,
                        const ScriptLimits& limits) {
  std::vector<script_bytes> given;
  for (const std::string_view buffer : buffers) given.push_back(script_bytes_of(buffer));
  Watch watch{.stop = stop, .end = worked_seconds() + limits.seconds};
  const script_limits allowed{
      .memory = limits.memory_bytes, .ends = Watch::ends, .context = &watch};
  CrateBytes bytes;
  const int status =
      script_call(script_bytes_of(script), script_bytes_of(function), script_bytes_of(text),
                  given.data(), given.size(), &allowed, bytes.out());
  const std::string answer = bytes.text();
  const char* const fewer = "select fewer models or {layers}";
  switch (status) {
    case script_ok: return answer;
    case script_ended:
      if (stop.stop_requested()) throw Stopped();
      refuse("drawing took longer than " + seconds_text(limits.seconds), fewer);
    case script_too_large:
      refuse("drawing exceeded " + std::to_string(limits.memory_bytes >> 20) + " MiB of memory",
             fewer);
    case script_absent:
      refuse("this build of attnscope cannot run scripts", "install cargo, then rebuild");
    default: throw std::runtime_error("script failed: " + answer);
  }
}

}  // namespace attnscope
