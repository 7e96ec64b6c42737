#include "attnscope/features/report/models.h"

#include <algorithm>

#include "attnscope/features/all_commands.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/text_length.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/report/inputs.h"
#include "attnscope/forward/forward_pass.h"

namespace attnscope {

namespace {

/// The report arguments without inputs of other kinds. A decoder of an audio model keeps its target
/// text.
Arguments own_arguments(const Arguments& report, const Model& model) {
  const InputKind kind = input_kind(model);
  const auto is_media_parameter = [](std::string_view name) {
    return std::find(kMediaParameters.begin(), kMediaParameters.end(), name) !=
           kMediaParameters.end();
  };
  std::vector<std::string_view> others(kInputParameters.begin(), kInputParameters.end());
  std::erase_if(others, [&](std::string_view name) {
    return is_media_parameter(name) == (kind != InputKind::text);
  });
  if (needs_target(model)) {
    std::erase_if(others, [](std::string_view name) { return name.starts_with("target"); });
  }
  return report.without(others);
}

}  // namespace

std::vector<ReportModel> report_models(const Arguments& report, const std::vector<Model>& models,
                                       const Session& session) {
  const std::vector<std::string> texts = texts_of(models, report, session);
  const Compute compute{.kernels = session.context.kernels, .stop = session.context.stop};
  std::vector<ReportModel> out;
  for (std::size_t index = 0; index < models.size(); ++index) {
    const Model& model = models[index];
    out.push_back(
        {.model = model,
         .arguments = own_arguments(report, model).with("models", std::vector{texts[index]}),
         .is_alone = models.size() == 1});
    ReportModel& one = out.back();
    try {
      const ForwardPass pass(model, /*copy_weights=*/false, compute);
      if (input_kind(model) != InputKind::text) continue;
      one.longest = context_of(pass);
      one.vocabulary = pass.vocabulary();
    } catch (const Error& error) {
      one.not_run = error;
    }
  }
  return out;
}

namespace {

/// The head of {maps}, or else the one that opens first, with the parameter that names it.
std::pair<std::optional<HeadIndex>, const char*> given_head(const Arguments& arguments) {
  if (const auto* head = arguments.find<HeadIndex>("maps")) return {*head, "maps"};
  const auto* layer = arguments.find<std::int64_t>("layer");
  const auto* head = arguments.find<std::int64_t>("head");
  if (layer == nullptr && head == nullptr) return {std::nullopt, ""};
  const HeadIndex place{layer == nullptr ? 0 : *layer, head == nullptr ? 0 : *head};
  return {place, layer == nullptr ? "head" : "layer"};
}

}  // namespace

std::string opened_state(const Arguments& report, const Dimensions& dimensions) {
  const auto* layer = report.find<std::int64_t>("layer");
  const auto* head = report.find<std::int64_t>("head");
  const bool of_head = layer != nullptr || head != nullptr;
  if (!of_head && !report.given("view")) return "";
  std::string state = report.given("view") ? report.text("view") : "attention";
  const char* separator = "?";
  const auto add = [&](const char* name, std::int64_t index) {
    state += separator + std::string(name) + "=" + std::to_string(index);
    separator = "&";
  };
  if (layer != nullptr) add("l", *layer < 0 ? *layer + dimensions.layers : *layer);
  if (head != nullptr) add("h", *head);
  return state;
}

std::optional<HeadIndex> named_head(const ReportModel& model) {
  const auto [given, parameter] = given_head(model.arguments);
  if (!given) return std::nullopt;
  const Dimensions& dimensions = model.model.dimensions();
  HeadIndex head = *given;
  if (head.layer < 0) head.layer += dimensions.layers;
  if (head.layer >= 0 && head.layer < dimensions.layers && head.head < dimensions.heads.heads) {
    if (dimensions.attends(head.layer)) return head;
    throw Error(ErrorKind::usage, {.parameter = parameter,
                                   .problem = verbatim(model.model.name()) + ": " +
                                              why_not_mixed(dimensions, Role::query, head.layer)});
  }
  throw Error(ErrorKind::usage,
              {.parameter = parameter,
               .problem = verbatim(model.model.name()) + " has layers 0 to " +
                          std::to_string(dimensions.layers - 1) + " and heads 0 to " +
                          std::to_string(dimensions.heads.heads - 1)});
}

std::string report_line(const Arguments& report, const Session& session) {
  std::vector<std::string_view> names = {"models", "layout", "stack", "out",   "charts",
                                         "layers", "maps",   "view",  "layer", "head"};
  names.insert(names.end(), {"head_sets", "prompts", "patch_positions", "plan_text", "base"});
  names.insert(names.end(), kInputParameters.begin(), kInputParameters.end());
  return session.command_line(find_command_named("report"), texts_of(report, names));
}

std::string page_line(const ReportModel& model, const std::optional<HeadIndex>& whole,
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
