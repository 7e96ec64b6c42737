#include "attnscope/commands/report/empty_report.h"

#include <ctime>

#include "attnscope/commands/report/report_lines.h"
#include "attnscope/commands/signal_parameters.h"
#include "attnscope/run/model_facts.h"

namespace attnscope {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace

ReportFile empty_report(const Arguments& report, std::span<const Model> models,
                        const Session& session) {
  std::vector<Record> facts;
  for (const Model& model : models) {
    facts.push_back(facts_record(model_facts(model)));
    facts.back().add("reads", noun_of(input_kind(model)));
  }
  return ReportFile({{"version", ATTNSCOPE_VERSION},
                     {"created", utc_now()},
                     {"command", report_line(report, session)},
                     {"thresholds", std::vector<double>{0.6, 0.8, 0.9, 0.99}}},
                    std::move(facts));
}

}  // namespace attnscope
