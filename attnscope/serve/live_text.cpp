#include "attnscope/serve/live_text.h"

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/report/sections_on_text.h"
#include "attnscope/features/report/shown_maps.h"
#include "attnscope/serve/limits.h"

namespace attnscope {
namespace {

/// The arguments of `report` combined with a client's request.
ReportModel with_request(const ReportModel& model, const TextRequest& request) {
  ReportModel out = model;
  for (const char* name :
       {"text", "text_pair", "text_file", "tokens", "token_types", "target", "target_tokens",
        "image", "audio", "layers", "lines", "score_positions"}) {
    const ParameterValue* value = request.text.find_given(name);
    if (value != nullptr) out.arguments = out.arguments.with(name, *value);
  }
  return out;
}

bool is_chosen(std::span<const ReportModel> models, const TextRequest& request, std::size_t index) {
  const Model& model = models[index].model;
  if (!request.model) return input_kind(model) == named_input(request.text);
  const bool across = request.text.given("target") || request.text.given("target_tokens");
  return index == *request.model ||
         (across && &model.checkpoint() == &models[*request.model].model.checkpoint());
}

/// A request can contain a long text, but no file of targets.
void check_long_text_has_target(const ReportModel& model) {
  const Arguments& given = model.arguments;
  const bool lacks = needs_target(model.model) && !target_is_given(given);
  if (model.not_run || !lacks || !given.given("text_file")) return;
  throw Error(
      ErrorKind::usage,
      {.problem = "missing target text for the decoder: pass {target} in addition to {text}"});
}

}  // namespace

Session with_sent_text(const Session& session, const std::string& sent) {
  Session with = session;
  with.files = std::make_shared<RunFiles>();
  with.files->keep_text(kSentFile, without_byte_order_mark(sent, {.file = kSentFile}));
  with.spell = [of_commands = session.spell](std::string_view name) {
    return name == kLongText ? std::string(name) : of_commands(name);  // only requests have it
  };
  return with;
}

Error of_sent(const Error& error, const std::string& parameter) {
  ErrorParts parts = error.parts();
  const bool of_option = parts.parameter == "text_file" || parts.parameter == "calibration_file";
  if (parts.file != kSentFile && !of_option) return error;
  // The hint names command-line options, which a request does not have.
  if (parts.file == kSentFile) parts.file = parts.hint = "";
  parts.parameter = parameter;
  return Error(error.kind(), std::move(parts));
}

std::string sent_parameter(const Arguments& run) {
  if (const std::string media_input = named_media_parameter(run); !media_input.empty())
    return media_input;
  if (run.given("text_file")) return kLongText;
  return run.given("text") ? "text" : "tokens";
}

std::vector<ChosenModel> chosen_models(std::span<const ReportModel> models,
                                       const TextRequest& request, const Session& session) {
  std::vector<ChosenModel> chosen;
  for (std::size_t index = 0; index < models.size(); ++index) {
    if (!is_chosen(models, request, index)) continue;
    ChosenModel& one =
        chosen.emplace_back(ChosenModel{.model = with_request(models[index], request)});
    try {
      check_long_text_has_target(one.model);
      one.text.emplace(given_text(one.model, session, request.sent));
    } catch (const Error& error) {
      one.error = of_sent(error, sent_parameter(request.text));
    }
  }
  return chosen;
}

/// A model that cannot be run needs no maps; its run reports why.
void check_map_sizes(std::span<const ChosenModel> chosen) {
  std::uint64_t bytes = 0;
  for (const auto& [report, text, error] : chosen) {
    const Model& model = report.model;
    if (!text) continue;
    const SavedMapsRequest maps_request = saved_maps_request(*text);
    const MapSize size = map_size(model, maps_request);
    const auto maps =
        static_cast<std::uint64_t>(std::ssize(maps_request.layers) * maps_request.heads(model));
    const auto tokens = static_cast<std::uint64_t>(size.queries);
    const auto of_map = checked_mul(tokens, sizeof(float) * static_cast<std::uint64_t>(size.keys));
    const auto of_model = of_map ? checked_mul(*of_map, maps) : std::nullopt;
    const auto sum = of_model ? checked_add(bytes, *of_model) : std::nullopt;
    if (!sum || *sum > kRawMapsLimitBytes) {
      const std::string parameter = sent_parameter(report.arguments);
      throw Error(
          ErrorKind::usage,
          {.parameter = parameter,
           .problem = "the input has " + counted(tokens, parameter == "audio" ? "frame" : "token") +
                      ": the maps of all heads exceed the limit of 4 GB",
           .hint = "pass a shorter input or fewer {layers}"});
    }
    bytes = *sum;
  }
}

}  // namespace attnscope
