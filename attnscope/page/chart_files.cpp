#include "attnscope/page/chart_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "attnscope/base/crate_bytes.h"
#include "attnscope/base/error.h"
#include "attnscope/page/encoding.h"
#include "attnscope/page/rust_picture.h"
#include "attnscope/page/script.h"

namespace attnscope {
namespace {

/// Keeps the key order of the specification.
using Json = nlohmann::ordered_json;

/// Chart names contain untrusted model names, so they must not point outside the folder.
bool is_file_name(std::string_view name) {
  constexpr std::size_t kMaxLetters = 80;
  return !name.empty() && name.size() <= kMaxLetters &&
         std::all_of(name.begin(), name.end(), [](char letter) {
           return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                  (letter >= '0' && letter <= '9') || letter == '-' || letter == '_';
         });
}

std::vector<ChartFile> parsed(std::string_view answer) {
  std::vector<ChartFile> charts;
  std::set<std::string> names;
  for (const Json& chart : Json::parse(answer)) {
    const auto& name = chart.at("name").get_ref<const std::string&>();
    if (!is_file_name(name)) throw std::runtime_error("invalid chart name '" + name + "'");
    if (!names.insert(name).second) {
      throw std::runtime_error("duplicate chart name '" + name + "'");
    }
    charts.push_back({.name = name,
                      .title = chart.at("title").get<std::string>(),
                      .vega_lite = chart.at("vega_lite").dump(2) + "\n",
                      .svg = chart.at("svg").get<std::string>()});
  }
  return charts;
}

}  // namespace

void check_draws_charts(std::string_view script) {
  const bool node = script.empty();
  if (!node && runs_scripts()) return;
  throw Error(
      ErrorKind::unsupported,
      {.parameter = "charts",
       .problem = std::string("this build cannot draw charts: it was built without ") +
                  (node ? "Node" : "cargo"),
       .hint = std::string("install ") +
               (node ? "Node 18 or newer with npm" : "cargo 1.85 or newer") + ", then rebuild"});
}

std::vector<ChartFile> chart_files(std::string_view script, const ReportFile& file, double seconds,
                                   const std::stop_token& stop) {
  const std::string values = file.values();
  const std::string_view buffers[] = {values, file.maps()};
  const std::string answer =
      call_script(script, "attnscope_charts", file.results(seconds), buffers, stop);
  try {
    return parsed(answer);
  } catch (const Json::exception& error) {
    throw std::runtime_error(std::string("invalid charts: ") + error.what());
  }
}

std::string image_svg(std::string_view script, std::string_view description,
                      std::span<const float> values, const std::stop_token& stop) {
  const std::string planes = byte_planes(values);
  const std::string_view buffers[] = {planes};
  return call_script(script, "attnscope_image", description, buffers, stop);
}

std::string chart_png(std::string_view svg, std::string_view font, double scale) {
  CrateBytes bytes;
  const int status = picture_draw(bytes_of(svg), svg.size(), bytes_of(font), font.size(),
                                  static_cast<float>(scale), bytes.out());
  const std::string answer = bytes.text();
  if (status == picture_ok) return answer;
  if (status == picture_too_large) {
    throw Error(ErrorKind::usage, {.parameter = "scale", .problem = answer});
  }
  throw std::runtime_error("cannot draw the chart as PNG: " + answer);
}

}  // namespace attnscope
