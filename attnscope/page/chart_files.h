// Every chart of a report as files that other programs open: a Vega-Lite specification with its
// data in it, and an SVG. They are described once, in web/: the page's own functions draw them
// here.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/page/report_file.h"

namespace attnscope {

struct ChartFile {
  std::string name;       // letters, digits, '-' and '_': a file's, before its dot
  std::string vega_lite;  // JSON, which ends with a line feed
  std::string svg;
};

/// Throws Error(unsupported), with how to get a build that draws charts, where this one does not.
/// `script`: charts_script().
void check_draws_charts(std::string_view script);

/// `seconds`: what the report took. Throws as call_script() does; std::runtime_error also where the
/// script's answer is not what it should be.
std::vector<ChartFile> chart_files(std::string_view script, const ReportFile& file, double seconds,
                                   const std::stop_token& stop);

}  // namespace attnscope
