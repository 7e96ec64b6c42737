#include "attnscope/features/report/sections_on_prompts.h"

#include <algorithm>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/features/ablate/patching_options.h"
#include "attnscope/features/ablate/run.h"
#include "attnscope/features/common/options/prompts_file.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/report/skipped.h"

namespace attnscope {
namespace {

constexpr const char* kAllActivations = "all";  // the residual stream and all components
constexpr const char* kWithoutHeads = "resid_pre,layers";

bool takes_long(double flops) {
  constexpr double kLong = 5e13;  // some minutes on a few cores
  return flops > kLong;
}

}  // namespace

PromptsRun::PromptsRun(const ReportModel& model, const Session& session)
    : model_(model), session_(session) {
  if (model.not_run) throw *model.not_run;
  const Arguments arguments = part_arguments(prompts_part(model, "layers"));
  const std::vector<Model> models = open_models(arguments, session);
  check_single_texts(models, "prompts");
  request_ = prompts_request(arguments, session, models);
  if (model.arguments.given("patch_positions")) count_positions();
}

void PromptsRun::add(ReportFile& file) const {
  add_components(file);
  const auto add_other = [&](const char* id, const auto& add_rows) {
    try {
      add_rows();
    } catch (const Error& error) {
      leave_out(id, model_, error, session_, file);
    }
  };
  add_other(kAblatePatching, [&] { add_positions(file); });
  add_other(kAblatePath, [&] { add_paths(file); });
}

std::int64_t PromptsRun::count_positions() const {
  const bool given = model_.arguments.given("patch_positions");
  const std::string selection = given ? model_.arguments.text("patch_positions") : "each";
  return std::ssize(patched_places(selection, request_.of_models.front().clean, request_.labels));
}

void PromptsRun::add_components(ReportFile& file) const {
  const ReportPart all = prompts_part(model_, "all");
  if (!takes_long(2 * flops_of("all"))) return fill_part(all, session_, file);
  leave_out_slow(all, "patching of each head", file);
  fill_part(prompts_part(model_, "layers"), session_, file);
}

void PromptsRun::add_positions(ReportFile& file) const {
  // Tokens before the patched position are not run again: on average half of them. The residual
  // stream costs as much as attention.
  const double places = static_cast<double>(count_positions()) / 2;
  const double stream = flops_of("attention");
  const ReportPart all = patching_part(model_, kAllActivations);
  if (!takes_long(places * (stream + flops_of("all")))) return fill_part(all, session_, file);
  const bool nothing = takes_long(places * (stream + flops_of("layers")));
  leave_out_slow(all, nothing ? "patching at each position" : "patching of each head", file);
  if (!nothing) fill_part(patching_part(model_, kWithoutHeads), session_, file);
}

void PromptsRun::add_paths(ReportFile& file) const {
  // Of L layers, the inputs of layer r receive r times. Each time, L − r layers are run again. This
  // is about L times the cost of patching the attention of each layer.
  const auto layers = static_cast<double>(model_.model.dimensions().layers);
  const ReportPart part = paths_part(model_);
  if (!takes_long(layers * flops_of("attention"))) return fill_part(part, session_, file);
  leave_out_slow(part, "path patching", file);
}

double PromptsRun::flops_of(const char* parts) const {
  const TextRows clean = text_rows(request_.of_models.front().clean);
  // Texts of the mean length, so that their tokens are counted exactly.
  const auto prompts = std::ssize(request_.of_models.front().clean);
  const std::int64_t length = (clean.all + prompts - 1) / prompts;
  return ablate_flops(model_.model, parts, prompts, length, /*source=*/0);
}

void PromptsRun::leave_out_slow(const ReportPart& part, const char* what, ReportFile& file) const {
  file.add_left_out({.part = part.id,
                     .model = part.model,
                     .why = std::string("too slow: ") + what,
                     .command = part_line(part, session_)});
}

}  // namespace attnscope
