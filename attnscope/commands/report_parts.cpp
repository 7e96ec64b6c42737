#include "attnscope/commands/report_parts.h"

#include <algorithm>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"

namespace attnscope {

const char* const kUsualText =
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
    "nothing to do: once or twice she had peeped into the book her sister was reading, but it had "
    "no pictures or conversations in it.";

namespace {

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

ReportPart part_of(const Arguments& report, std::string id, const char* command,
                   const Example& own) {
  ReportPart part{.id = std::move(id),
                  .command = command,
                  .arguments = shared_arguments(report, find_command_named(command))};
  part.arguments.insert(part.arguments.end(), own.begin(), own.end());
  return part;
}

/// Every role that some model has.
std::string roles_of(const std::vector<Model>& models) {
  std::vector<std::string> roles;
  for (const std::string& name : role_names()) {
    const auto role = role_from_name(name);
    if (std::any_of(models.begin(), models.end(),
                    [&](const Model& model) { return model.has(*role); })) {
      roles.push_back(name);
    }
  }
  return join(roles, ",");
}

}  // namespace

std::vector<ReportPart> weight_parts(const Arguments& report, const std::vector<Model>& models) {
  std::vector<ReportPart> parts = {
      part_of(report, "spectrum", "spectrum",
              {{"matrix", roles_of(models)},
               {"per_head", ""},
               {"values", ""},
               {"energy", "0.6,0.8,0.9,0.99"}}),
      part_of(report, "mla", "spectrum", {{"mla", ""}}),
      part_of(report, "weights", "weights", {{"per_head", ""}, {"histogram", ""}, {"bins", "400"}}),
      part_of(report, "similarity", "similarity", {{"histogram", ""}}),
      part_of(report, "overlap", "similarity", {{"overlap", ""}}),
      part_of(report, "circuits", "circuits", {{"energy", "0.6,0.8,0.9,0.99"}}),
      part_of(report, "composition", "circuits", {{"composition", ""}})};
  parts.back().order_by = "excess";
  parts.back().most = 2000;
  return parts;
}

std::vector<ReportPart> text_parts(const Arguments& report) {
  Example text;
  for (const char* name : {"text", "text_file", "tokens", "token_file"}) {
    if (report.given(name)) text.emplace_back(name, report.text(name));
  }
  if (text.empty()) text.emplace_back("text", kUsualText);
  for (const char* name : {"sequences", "length", "sample"}) {
    if (const auto number = report.integer(name)) text.emplace_back(name, std::to_string(*number));
  }
  Example without_first = text;
  without_first.emplace_back("without_first", "");
  return {part_of(report, "attention", "attention", text),
          part_of(report, "attention_without_first", "attention", without_first),
          part_of(report, "induction", "attention", {{"induction", ""}})};
}

std::string command_line_of(const ReportPart& part, const Session& session) {
  return session.example_line(find_command_named(part.command), part.arguments);
}

void fill_part(const ReportPart& part, const Session& session, ReportFile& file) {
  const Command& command = find_command_named(part.command);
  const auto sink = file.sink({.id = part.id,
                               .again = command_line_of(part, session),
                               .order_by = part.order_by,
                               .most = part.most});
  command.run(arguments_of(command, part.arguments), session, *sink);
}

void run_part(const ReportPart& part, const Session& session, ReportFile& file) {
  try {
    fill_part(part, session, file);
  } catch (const Error& error) {
    file.add_left_out(part.id, part.id + ": " + verbatim(error.what()),
                      command_line_of(part, session));
  }
}

}  // namespace attnscope
