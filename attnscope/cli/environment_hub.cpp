#include "attnscope/cli/environment_hub.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/hub/settings.h"

namespace attnscope {
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

/// The line of the downloads under way; gone when they are done.
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
