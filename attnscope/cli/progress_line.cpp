#include "attnscope/cli/progress_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace attnscope {
namespace {

using namespace std::chrono_literals;

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string progress_text(const std::string& label, const Progress& progress, double seconds) {
  const double rate = seconds > 0 ? progress.flops_done / seconds : 0;
  std::string text =
      fmt::format("{}: {} of {} matrices, {:.1f} of {:.1f} MB", label, progress.items_done,
                  progress.items_total, static_cast<double>(progress.bytes_done) / 1e6,
                  static_cast<double>(progress.bytes_total) / 1e6);
  if (rate > 0) {
    // Items differ in size by orders of magnitude: the arithmetic left tells the time left.
    const double left = (progress.flops_total - progress.flops_done) / rate;
    text += fmt::format(", {:.1f} GF/s, {} left", rate / 1e9, duration_text(left));
  }
  return text;
}

}  // namespace

ProgressLine::ProgressLine(std::string label, ProgressMode mode)
    : label_(std::move(label)),
      on_terminal_(isatty(STDERR_FILENO) != 0),
      enabled_(mode == ProgressMode::always || (mode == ProgressMode::automatic && on_terminal_)),
      start_(Clock::now()),
      last_(start_) {}

ProgressLine::~ProgressLine() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::show(const Progress& progress) {
  if (!enabled_) return;
  const auto now = Clock::now();
  if (now - last_ < (on_terminal_ ? Clock::duration(100ms) : Clock::duration(10s))) return;
  last_ = now;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string text = progress_text(label_, progress, seconds);
  if (on_terminal_) {
    std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
    drawn_ = true;
  } else {
    std::fprintf(stderr, "%s\n", text.c_str());
  }
  std::fflush(stderr);
}

}  // namespace attnscope
