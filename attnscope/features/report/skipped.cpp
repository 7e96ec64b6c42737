#include "attnscope/features/report/skipped.h"

#include "attnscope/base/error.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/features/report/inputs.h"
#include "attnscope/features/report/models.h"
#include "attnscope/features/report/sections.h"

namespace attnscope {
namespace {

ReportFile::LeftOut skipped(const std::string& part, const ReportModel& model, const Error& error,
                            const Session& session) {
  return {
      .part = part, .model = model.model.name(), .why = error_text(error.parts(), session.spell)};
}

/// The model with a text that gives finite maps, so that the commands shown in the report succeed.
std::optional<ReportModel> with_text_that_runs(const ReportModel& model, const Session& session) {
  std::optional<ReportModel> with = with_some_text(model);
  if (!with) return std::nullopt;
  ReportCollector rows;
  try {
    const ReportPart part = attention_part(*with);
    run_rows(find_command_named(part.command), part_arguments(part), session, rows);
  } catch (const Error&) {  // the reason for skipping the text is already recorded
    return std::nullopt;
  }
  return with;
}

}  // namespace

void leave_out(const std::string& part, const ReportModel& model, const Error& error,
               const Session& session, ReportFile& file) {
  file.add_left_out(skipped(part, model, error, session));
}

void leave_out_text(const ReportModel& model, const Error& error, const Session& session,
                    ReportFile& file) {
  const auto other = with_text_that_runs(model, session);
  const auto leave = [&](const char* part, const auto& line_of) {
    ReportFile::LeftOut entry = skipped(part, model, error, session);
    if (other) entry.command = line_of(*other);
    file.add_left_out(std::move(entry));
  };
  leave(kAttention, [&](const auto& with) { return part_line(attention_part(with), session); });
  leave(kExcludeFirstToken,
        [&](const auto& with) { return part_line(without_first_part(with), session); });
  leave("maps", [&](const auto& with) { return page_line(with, std::nullopt, session); });
}

}  // namespace attnscope
