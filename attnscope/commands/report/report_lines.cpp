#include "attnscope/commands/report/report_lines.h"

#include "attnscope/commands/report/report_text.h"

namespace attnscope {

std::string report_line(const Arguments& report, const Session& session) {
  std::vector<std::string_view> names = {"models", "layout", "stack", "out",
                                         "charts", "layers", "maps"};
  names.insert(names.end(), kInputParameters.begin(), kInputParameters.end());
  return session.command_line(find_command_named("report"), texts_of(report, names));
}

std::string page_line(const ReportModel& model, const std::optional<HeadPlace>& whole,
                      const Session& session) {
  std::vector<std::string_view> names = {"models", "layout"};
  if (model.is_alone) names.insert(names.end(), {"out", "charts"});
  names.emplace_back("layers");
  names.insert(names.end(), kInputParameters.begin(), kInputParameters.end());
  if (whole) names.emplace_back("maps");
  const Arguments& given = model.arguments;
  ArgumentTexts line = texts_of(whole ? given.with("maps", *whole) : given, names);
  if (!model.is_alone) line.emplace_back("out", "maps.html");
  return session.command_line(find_command_named("report"), line);
}

}  // namespace attnscope
