#include "attnscope/commands/report/report_parts.h"

#include <algorithm>

#include "attnscope/analyses/attention.h"
#include "attnscope/core/text.h"

namespace attnscope {
namespace {

/// Every role that the model has.
std::string roles_of(const Model& model) {
  std::vector<std::string> roles;
  for (const std::string& name : role_names()) {
    if (model.has(*role_from_name(name))) roles.push_back(name);
  }
  return join(roles, ",");
}

Example spectrum_arguments(const ReportModel& model) {
  return {{"matrix", roles_of(model.model)},
          {"per_head", ""},
          {"values", ""},
          {"energy", "0.6,0.8,0.9,0.99"}};
}

/// Where the usual number of tokens is more than the model takes, as many as it does.
Example induction_arguments(const ReportModel& model) {
  if (model.not_run) throw *model.not_run;
  const std::int64_t usual = 2 * InductionRequest().block;
  constexpr std::int64_t kFewest = 4;  // two tokens, twice
  if (model.longest >= usual) return {{"induction", ""}};
  if (model.longest >= kFewest) {
    return {{"induction", ""}, {"length", std::to_string(model.longest / 2 * 2)}};
  }
  throw Error(ErrorKind::usage, {.problem = "a text of " + std::to_string(model.longest) +
                                            " tokens, the longest that the model takes, is too "
                                            "short to repeat tokens"});
}

struct Kind {
  const char* id;
  const char* command;
  Example (*arguments)(const ReportModel& model);
  const char* order_by = "";
  std::size_t most = SIZE_MAX;
};

const Kind kKinds[] = {{"spectrum", "spectrum", spectrum_arguments},
                       {"mla", "spectrum",
                        [](const ReportModel&) {
                          return Example{{"mla", ""}};
                        }},
                       {"weights", "weights",
                        [](const ReportModel&) {
                          return Example{{"per_head", ""}, {"histogram", ""}, {"bins", "400"}};
                        }},
                       {"similarity", "similarity",
                        [](const ReportModel&) {
                          return Example{{"histogram", ""}};
                        }},
                       {"overlap", "similarity",
                        [](const ReportModel&) {
                          return Example{{"overlap", ""}};
                        }},
                       {"circuits", "circuits",
                        [](const ReportModel&) {
                          return Example{{"energy", "0.6,0.8,0.9,0.99"}};
                        }},
                       {"composition", "circuits",
                        [](const ReportModel&) {
                          return Example{{"composition", ""}};
                        },
                        "excess", 2000},
                       {"induction", "attention", induction_arguments}};

/// The arguments of the report that every part of that command takes, too.
Example shared_arguments(const Arguments& report, const Command& command) {
  Example out;
  for (const std::string& model : report.texts("models")) out.emplace_back("models", model);
  for (const char* name : {"layout", "store"}) {
    if (report.given(name)) out.emplace_back(name, report.text(name));
  }
  const Value layers = report.layers("layers").parameter();
  if (const auto* text = layers.get<std::string>()) out.emplace_back("layers", *text);
  std::erase_if(out, [&](const auto& argument) {
    return find_parameter(command, argument.first) == nullptr;
  });
  return out;
}

ReportPart part_of(const ReportModel& model, std::string id, const char* command,
                   const Example& own) {
  ReportPart part{.id = std::move(id),
                  .model = model.model.name(),
                  .command = command,
                  .arguments = shared_arguments(model.report, find_command_named(command))};
  part.arguments.insert(part.arguments.end(), own.begin(), own.end());
  return part;
}

}  // namespace

std::vector<std::string> analysis_ids() {
  std::vector<std::string> ids;
  for (const Kind& kind : kKinds) ids.emplace_back(kind.id);
  return ids;
}

ReportPart analysis_part(const std::string& id, const ReportModel& model) {
  const Kind& kind = *std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& each) { return each.id == id; });
  ReportPart part = part_of(model, id, kind.command, kind.arguments(model));
  part.order_by = kind.order_by;
  part.most = kind.most;
  return part;
}

ReportPart attention_part(const ReportModel& model, const Example& text) {
  return part_of(model, kAttention, "attention", text);
}

ReportPart without_first_part(const ReportModel& model, const Example& text) {
  ReportPart part = part_of(model, kWithoutFirst, "attention", text);
  part.arguments.emplace_back("without_first", "");
  return part;
}

std::string command_line_of(const ReportPart& part, const Session& session) {
  return session.example_line(find_command_named(part.command), part.arguments);
}

std::unique_ptr<RowSink> part_sink(const ReportPart& part, const Session& session,
                                   ReportFile& file) {
  return file.sink({.id = part.id,
                    .model = part.model,
                    .again = command_line_of(part, session),
                    .spell = session.spell,
                    .order_by = part.order_by,
                    .most = part.most});
}

void fill_part(const ReportPart& part, const Session& session, ReportFile& file) {
  const Command& command = find_command_named(part.command);
  const auto sink = part_sink(part, session, file);
  command.run(arguments_of(command, part.arguments), session, *sink);
}

}  // namespace attnscope
