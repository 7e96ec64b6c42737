// Writes every chart of a report as files for other programs: a Vega-Lite specification with its
// data, and an SVG. They are drawn by the page's own functions from web/.
#pragma once

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/page/report_file.h"

namespace attnscope {

struct ChartFile {
  std::string name;       // file name without extension: letters, digits, '-' and '_'
  std::string vega_lite;  // JSON that ends with a line feed
  std::string svg;
};

/// Throws Error(unsupported) if this build cannot draw charts; the hint explains how to build one
/// that can. `script`: charts_script().
void check_draws_charts(std::string_view script);

/// `seconds`: run time of the report. Throws as call_script() does, and std::runtime_error if the
/// script's answer is malformed.
std::vector<ChartFile> chart_files(std::string_view script, const ReportFile& file, double seconds,
                                   const std::stop_token& stop);

}  // namespace attnscope
