#include "attnscope/commands/report/report_lines.h"

#include "attnscope/commands/report/report_text.h"

namespace attnscope {

std::string report_line(const Arguments& report, const Session& session) {
  constexpr std::string_view kNames[] = {"models",     "layout", "text",   "text_file", "tokens",
                                         "token_file", "out",    "charts", "sequences", "length",
                                         "sample",     "layers", "maps"};
  return session.command_line(find_command_named("report"), texts_of(report, kNames));
}

std::string page_line(const ReportModel& model, const std::optional<HeadPlace>& whole,
                      const Session& session) {
  std::vector<std::string_view> names = {"models", "layout"};
  if (model.is_alone) names.insert(names.end(), {"out", "charts"});
  names.emplace_back("layers");
  names.insert(names.end(), kTextParameters.begin(), kTextParameters.end());
  if (whole) names.emplace_back("maps");
  const Arguments& given = model.arguments;
  ArgumentTexts line = texts_of(whole ? given.with("maps", *whole) : given, names);
  if (!model.is_alone) line.emplace_back("out", "maps.html");
  return session.command_line(find_command_named("report"), line);
}

}  // namespace attnscope
