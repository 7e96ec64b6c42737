#include "attnscope/page/chart_files.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "attnscope/base/error.h"
#include "attnscope/page/script.h"

namespace attnscope {
namespace {

/// Keeps the order in which a specification was written.
using Json = nlohmann::ordered_json;

/// Names are made of a model's, which nobody vouches for: none may lead out of the folder.
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
    if (!is_file_name(name)) throw std::runtime_error("a chart cannot be called '" + name + "'");
    if (!names.insert(name).second) {
      throw std::runtime_error("two charts are called '" + name + "'");
    }
    charts.push_back({.name = name,
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
       .problem = std::string("this build draws no charts: it was made without ") +
                  (node ? "Node" : "cargo"),
       .hint = std::string("install ") +
               (node ? "Node 18 or newer with npm" : "cargo 1.85 or newer") + ", and build again"});
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
    throw std::runtime_error(std::string("charts were not drawn as they should be: ") +
                             error.what());
  }
}

}  // namespace attnscope
