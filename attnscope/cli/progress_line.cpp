#include "attnscope/cli/progress_line.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "attnscope/base/text.h"
#include "attnscope/hub/settings.h"

namespace attnscope {
namespace {

constexpr double kBetweenLogLines = 10;  // seconds

std::string progress_text(const std::string& label, const Progress& progress) {
  const bool reads = progress.bytes_total > 0;  // items that run a model report no bytes
  std::string text =
      fmt::format("{}: {} of {} {}", label, progress.items_done, progress.items_total,
                  progress.items_total == 1 ? progress.items.one : progress.items.many);
  if (reads) {
    text += fmt::format(", {:.1f} of {:.1f} MB", static_cast<double>(progress.bytes_done) / 1e6,
                        static_cast<double>(progress.bytes_total) / 1e6);
  }
  if (!progress.seconds_left) {
    return text + fmt::format(", {} so far", duration_text(std::floor(progress.seconds)));
  }
  // Items differ in size by orders of magnitude, so the remaining time is estimated from the
  // remaining arithmetic.
  text += fmt::format(", {} left, {:.1f} GF/s", duration_text(*progress.seconds_left),
                      progress.flops_done / progress.seconds / 1e9);
  if (reads) {
    text += fmt::format(", {:.1f} MB/s",
                        static_cast<double>(progress.bytes_done) / progress.seconds / 1e6);
  }
  return text + fmt::format(", {:.1f} {}/s",
                            static_cast<double>(progress.items_done) / progress.seconds,
                            progress.items.many);
}

/// Cuts the text to the width of the terminal, because a wrapped line cannot be overwritten.
std::string fitted(std::string text, std::FILE* terminal) {
  winsize size{};
  const bool known = ioctl(fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  if (known && text.size() >= size.ws_col) text.resize(size.ws_col - 1u);
  return text;
}

}  // namespace

bool is_dumb_terminal() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) == "dumb";
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

ProgressLine::ProgressLine(std::string label, ProgressMode mode, std::FILE* stream)
    : label_(std::move(label)),
      stream_(stream),
      on_terminal_(isatty(fileno(stream)) != 0 && !is_dumb_terminal()),
      enabled_(mode == ProgressMode::always ||
               (mode == ProgressMode::automatic && isatty(fileno(stream)) != 0)),
      next_seconds_(kBetweenLogLines) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (drawn_ == 0) return;
  std::fprintf(stream_, "\r%s\r", fitted(std::string(drawn_, ' '), stream_).c_str());
  std::fflush(stream_);
  drawn_ = 0;
}

void ProgressLine::show(const Progress& progress) {
  if (enabled_) show(progress_text(label_, progress), progress.seconds);
}

void ProgressLine::show(const std::string& text, double seconds) {
  if (!enabled_) return;
  if (on_terminal_) {
    // Blanks overwrite the rest of a longer line, because not every terminal supports escape codes.
    const std::string left = text.size() < drawn_ ? std::string(drawn_ - text.size(), ' ') : "";
    std::fprintf(stream_, "\r%s", fitted(text + left, stream_).c_str());
    drawn_ = fitted(text, stream_).size();
  } else {
    if (seconds < next_seconds_) return;
    next_seconds_ = seconds + kBetweenLogLines;
    std::fprintf(stream_, "%s\n", text.c_str());
  }
  std::fflush(stream_);
}

namespace {

std::string download_text(const DownloadProgress& progress) {
  std::string text = fmt::format("{}: {} of {}, {:.1f} of {:.1f} MB", printable(progress.model),
                                 progress.files_done, counted(progress.files_total, "file"),
                                 static_cast<double>(progress.bytes_done) / 1e6,
                                 static_cast<double>(progress.bytes_total) / 1e6);
  const auto come = static_cast<double>(progress.bytes_come);
  if (come <= 0 || progress.seconds <= 0) return text;
  const double rate = come / progress.seconds;
  const auto left = static_cast<double>(progress.bytes_total - progress.bytes_done);
  return text + fmt::format(", {:.1f} MB/s, {} left", rate / 1e6, duration_text(left / rate));
}

/// The progress line of the active downloads; erased when they are done.
class DownloadLine {
 public:
  explicit DownloadLine(ProgressMode mode) : mode_(mode) {}

  void show(const DownloadProgress& progress) {
    if (progress.files_done == progress.files_total) return line_.reset();
    if (!line_) line_.emplace("", mode_);
    line_->show(download_text(progress), progress.seconds);
  }

 private:
  ProgressMode mode_;
  std::optional<ProgressLine> line_;
};

}  // namespace

std::shared_ptr<Hub> hub_of_environment(ProgressMode mode, std::stop_token stop,
                                        std::function<void(const std::string&)> on_note) {
  const auto line = std::make_shared<DownloadLine>(mode);
  return std::make_shared<Hub>(HubContext{.settings = hub_settings_of_environment(),
                                          .stop = std::move(stop),
                                          .on_note = std::move(on_note)},
                               [line](const DownloadProgress& progress) { line->show(progress); });
}

}  // namespace attnscope
