#include "attnscope/features/report/chart_folder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/page/chart_files.h"
#include "attnscope/page/template.h"

namespace attnscope {

namespace fs = std::filesystem;

void make_chart_folder(const Arguments& arguments) {
  const fs::path folder = arguments.text("charts");
  const auto refuse = [&](const std::string& problem, const std::string& why) {
    throw Error(ErrorKind::io, {.file = folder.string(), .problem = problem + ": " + why});
  };
  std::error_code failed;
  fs::create_directory(folder, failed);
  if (failed) refuse("cannot make the folder", failed.message());
  if (access(folder.c_str(), W_OK | X_OK) != 0) refuse("cannot write", std::strerror(errno));
}

void write_charts(const Arguments& arguments, const Session& session, const ReportFile& file,
                  double seconds) {
  const fs::path folder = arguments.text("charts");
  const auto charts = chart_files(charts_script(), file, seconds, session.context.stop);
  for (const ChartFile& chart : charts) {
    session.write_file(folder / (chart.name + ".vl.json"), chart.vega_lite);
    session.write_file(folder / (chart.name + ".svg"), chart.svg);
  }
  if (!session.on_note) return;
  session.on_note(verbatim(folder.string()) + ": " +
                  counted(charts.size(), "chart, as", "charts, each as") + " .vl.json and .svg");
}

}  // namespace attnscope
