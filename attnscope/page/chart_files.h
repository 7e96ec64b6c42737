// Writes every chart of a report as files for other programs: a Vega-Lite specification with its
// data, and an SVG. They are drawn by the page's own functions from web/.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/page/report_file.h"

namespace attnscope {

struct ChartFile {
  std::string name;  // file name without extension: letters, digits, '-' and '_'
  std::string title;
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

/// Returns one matrix as SVG. `description`: JSON, see exported_image() in web/. `values`: rows in
/// order. Throws the same errors.
std::string image_svg(std::string_view script, std::string_view description,
                      std::span<const float> values, const std::stop_token& stop);

/// Draws the SVG of a chart as PNG. `font`: charts_font(). `scale`: pixels per unit of the SVG.
/// Throws Error(usage) if it would have too many pixels, and std::runtime_error for an SVG that is
/// not a chart's.
std::string chart_png(std::string_view svg, std::string_view font, double scale);

}  // namespace attnscope
