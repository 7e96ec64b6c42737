#include "attnscope/features/report/sections.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "attnscope/base/text.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/features/common/expert_selection.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/plan/methods/depth.h"
#include "attnscope/features/plan/methods/low_rank.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/report/inputs.h"
#include "attnscope/inputs/text/score_positions.h"
#include "attnscope/model/expected_roles.h"

namespace attnscope {
namespace {

/// Every role that the model has, or should have.
std::string roles_of(const Model& model) {
  std::vector<std::string> roles;
  for (const std::string& name : role_names()) {
    if (is_expected(model, *role_from_name(name))) roles.push_back(name);
  }
  return join(roles, ",");
}

ArgumentTexts spectrum_arguments(const ReportModel& model) {
  return {{"matrix", roles_of(model.model)},
          {"per_head", ""},
          {"values", ""},
          {"energy", "0.6,0.8,0.9,0.99"}};
}

/// Experts that get a row each: all if there are few, else the default selection.
std::string shown_experts(const Model& model) {
  constexpr std::int64_t kFew = 16;
  const std::int64_t experts = model.dimensions().experts;
  if (experts <= kFew) return "all";
  std::vector<std::string> shown;
  for (const std::int64_t expert : ExpertSelection().resolve(experts, model.name())) {
    shown.push_back(std::to_string(expert));
  }
  return join(shown, ",");
}

ArgumentTexts expert_arguments(const ReportModel& model) {
  std::vector<std::string> roles;
  for (const Role role : {Role::gate, Role::up, Role::down}) {
    if (model.model.describes_of_expert(role)) roles.emplace_back(role_name(role));
  }
  return {{"matrix", join(roles, ",")}, {"experts", shown_experts(model.model)}};
}

ArgumentTexts induction_arguments(const ReportModel& model) {
  if (model.not_run) throw *model.not_run;
  return {{"induction", ""}};
}

bool has_experts(const Model& model) { return model.dimensions().experts > 0; }
bool reads_tokens(const Model& model) {
  return input_kind(model) == InputKind::text && model.stack() != "cross";
}

struct Kind {
  const char* id;
  const char* command;
  ArgumentTexts own = {};
  ArgumentTexts (*own_of)(const ReportModel& model) = nullptr;  // if they depend on the model
  const char* order_by = "";
  std::size_t most = SIZE_MAX;
  bool (*of_model)(const Model& model) = nullptr;  // null: applies to every model
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {.id = "spectrum", .command = "spectrum", .own_of = spectrum_arguments},
      {.id = "mla", .command = "spectrum", .own = {{"mla", ""}}},
      {.id = "weights",
       .command = "weights",
       .own = {{"per_head", ""}, {"histogram", ""}, {"bins", "400"}}},
      {.id = "similarity", .command = "similarity", .own = {{"histogram", ""}}},
      {.id = "overlap", .command = "similarity", .own = {{"overlap", ""}}},
      {.id = "circuits", .command = "circuits", .own = {{"energy", "0.6,0.8,0.9,0.99"}}},
      {.id = "composition",
       .command = "circuits",
       .own = {{"composition", ""}},
       .order_by = "excess",
       .most = 2000},
      {.id = kDirections, .command = "directions", .own = {{"top", "6"}}, .of_model = reads_tokens},
      {.id = "experts", .command = "experts", .of_model = has_experts},
      {.id = "expert_spectra",
       .command = "spectrum",
       .own_of = expert_arguments,
       .of_model = has_experts},
      {.id = "induction",
       .command = "attention",
       .own_of = induction_arguments,
       .of_model = reads_tokens}};
  return all;
}

const Kind& kind_of(const std::string& id) {
  return *std::find_if(kinds().begin(), kinds().end(),
                       [&](const Kind& each) { return each.id == id; });
}

/// The report arguments that the command also accepts.
ArgumentTexts shared_arguments(const Arguments& report, const Command& command,
                               std::span<const std::string_view> of_text) {
  std::vector<std::string_view> names = {"models", "layout", "store", "layers"};
  names.insert(names.end(), of_text.begin(), of_text.end());
  std::erase_if(names,
                [&](std::string_view name) { return find_parameter(command, name) == nullptr; });
  return texts_of(report, names);
}

ReportPart part_of(const ReportModel& model, std::string id, const char* command,
                   const ArgumentTexts& own, std::span<const std::string_view> of_text = {}) {
  ReportPart part{
      .id = std::move(id),
      .model = model.model.name(),
      .command = command,
      .arguments = shared_arguments(model.arguments, find_command_named(command), of_text)};
  part.arguments.insert(part.arguments.end(), own.begin(), own.end());
  return part;
}

/// The example options of the report that also apply to another text. A mask file applies to only
/// one text.
ArgumentTexts examples_of_other_text(const Arguments& report) {
  if (!report.given("score_positions")) return texts_of(report, {{"lines"}});
  if (!parse_position_ranges(report.text("score_positions"))) return {};
  return texts_of(report, {{"lines", "score_positions", "length"}});
}

}  // namespace

std::vector<std::string> analysis_ids() {
  std::vector<std::string> ids;
  for (const Kind& kind : kinds()) ids.emplace_back(kind.id);
  return ids;
}

ReportPart analysis_part(const std::string& id, const ReportModel& model) {
  const Kind& kind = kind_of(id);
  ReportPart part =
      part_of(model, id, kind.command, kind.own_of == nullptr ? kind.own : kind.own_of(model));
  part.order_by = kind.order_by;
  part.most = kind.most;
  part.of_experts = kind.of_model == has_experts;
  return part;
}

bool is_of_model(const std::string& id, const Model& model) {
  const Kind& kind = kind_of(id);
  return kind.of_model == nullptr || kind.of_model(model);
}

bool can_be_stored(const std::string& id) {
  return find_parameter(find_command_named(kind_of(id).command), "store") != nullptr;
}

std::vector<ReportPart> asked_parts(const ReportModel& model) {
  std::vector<ReportPart> parts;
  const auto add = [&](const char* id, const char* command, ArgumentTexts arguments) {
    parts.push_back({.id = id,
                     .model = model.model.name(),
                     .command = command,
                     .arguments = std::move(arguments)});
  };
  const ArgumentTexts of_model = texts_of(model.arguments, {{"models", "layout"}});
  if (model.arguments.given("plan_text")) {
    ArgumentTexts fitted = texts_of(model.arguments, {{"models", "layout", "store"}});
    fitted.emplace_back("calibration_file", model.arguments.text("plan_text"));
    const ArgumentTexts examples = examples_of_other_text(model.arguments);
    fitted.insert(fitted.end(), examples.begin(), examples.end());
    add(kPlan, "plan", fitted);
    for (const auto& [id, method, keep] : {std::tuple{kPlanLayers, depth_method(), "0.999"},
                                           {kPlanRanks, low_rank_method(), "0.8"}}) {
      if (!why_not(model.model, method).empty()) continue;
      ArgumentTexts own = fitted;
      own.emplace_back("method", method->name);
      own.emplace_back("keep", keep);
      add(id, "plan", std::move(own));
    }
  }
  if (model.arguments.given("base")) {
    ArgumentTexts pair = {{"models", model.arguments.text("base")}};
    pair.insert(pair.end(), of_model.begin(), of_model.end());
    pair.emplace_back("energy", "0.6,0.8,0.9,0.99");
    add("diff", "diff", std::move(pair));
  }
  return parts;
}

ReportPart routing_part(const ReportModel& model) {
  return part_of(model, kRouting, "experts", {}, kInputParameters);
}

ReportPart read_part(const ReportModel& model) {
  return part_of(model, kDirections, "directions", kind_of(kDirections).own, kInputParameters);
}

ReportPart lens_part(const ReportModel& model) {
  return part_of(model, kLens, "lens", {}, kInputParameters);
}

ReportPart lens_grid_part(const ReportModel& model, std::span<const std::int64_t> tokens,
                          std::span<const std::int64_t> source) {
  const auto ids_of = [](std::span<const std::int64_t> list) {
    std::vector<std::string> ids;
    for (const std::int64_t id : list) ids.push_back(std::to_string(id));
    return join(ids, ",");
  };
  ReportPart part{.id = kLensGrid,
                  .model = model.model.name(),
                  .command = "lens",
                  .arguments = texts_of(model.arguments, {{"models", "layout"}})};
  part.arguments.emplace_back("grid", "");
  if (!source.empty()) part.arguments.emplace_back("target_tokens", ids_of(tokens));
  part.arguments.emplace_back("tokens", ids_of(source.empty() ? tokens : source));
  return part;
}

ReportPart ablate_part(const ReportModel& model, const std::string& parts) {
  return part_of(model, kAblate, "ablate", {{"components", parts}}, kInputParameters);
}

ReportPart cumulative_part(const ReportModel& model) {
  return part_of(model, kAblateCumulative, "ablate", {{"cumulative", ""}}, kInputParameters);
}

ReportPart pairs_part(const ReportModel& model) {
  return part_of(model, kAblatePairs, "ablate", {{"pairs", "12"}}, kInputParameters);
}

ReportPart attention_part(const ReportModel& model) {
  return part_of(model, kAttention, "attention", {}, kInputParameters);
}

ReportPart without_first_part(const ReportModel& model) {
  return part_of(model, kExcludeFirstToken, "attention", {{"exclude_first_token", ""}},
                 kInputParameters);
}

namespace {

/// A section with prompts. Its rows are not stored, and paths cannot be restricted to some layers.
ReportPart part_on_prompts(const ReportModel& model, const char* id, const ArgumentTexts& own) {
  constexpr std::string_view kOfPrompts[] = {"prompts", "no_special_tokens"};
  ReportPart part = part_of(model, id, "ablate", own, kOfPrompts);
  std::erase_if(part.arguments, [&](const auto& given) {
    return given.first == "store" || (given.first == "layers" && part.id == kAblatePath);
  });
  return part;
}

}  // namespace

ReportPart prompts_part(const ReportModel& model, const std::string& parts) {
  return part_on_prompts(model, kAblatePrompts, {{"components", parts}});
}

ReportPart patching_part(const ReportModel& model, const std::string& parts) {
  const Arguments& report = model.arguments;
  const bool given = report.given("patch_positions");
  return part_on_prompts(model, kAblatePatching,
                         {{"components", parts},
                          {"patch_positions", given ? report.text("patch_positions") : "each"},
                          {"patching", "denoising"}});
}

ReportPart paths_part(const ReportModel& model) {
  return part_on_prompts(model, kAblatePath, {{"sender", "each-layer"}, {"patching", "denoising"}});
}

Arguments part_arguments(const ReportPart& part) {
  return arguments_of(find_command_named(part.command), part.arguments);
}

std::string part_line(const ReportPart& part, const Session& session) {
  return session.command_line(find_command_named(part.command), part.arguments);
}

std::unique_ptr<RowSink> part_sink(const ReportPart& part, const Session& session,
                                   ReportFile& file) {
  return file.sink({.id = part.id,
                    .model = part.model,
                    .again = part_line(part, session),
                    .spell = session.spell,
                    .order_by = part.order_by,
                    .most = part.most,
                    .of_experts = part.of_experts});
}

void fill_part(const ReportPart& part, const Session& session, ReportFile& file) {
  const Command& command = find_command_named(part.command);
  const auto sink = part_sink(part, session, file);
  run_rows(command, part_arguments(part), session, *sink);
}

}  // namespace attnscope
