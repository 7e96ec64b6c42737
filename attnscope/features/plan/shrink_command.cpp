// `shrink`: makes the model that a plan describes.
#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/plan/memory.h"
#include "attnscope/features/plan/plan_file.h"
#include "attnscope/features/plan/shrink_run.h"
#include "attnscope/inputs/text/score_positions.h"

namespace attnscope {
namespace {

using enum ParameterType;

DType dtype_of(const std::string& name) {
  if (name == "F32") return DType::f32;
  return name == "F16" ? DType::f16 : DType::bf16;
}

/// The examples that the plan was made on. A plan has the name of a mask's file, not where it is.
Arguments with_examples_of(const PlanFile& plan, const Arguments& arguments) {
  Arguments out = plan.lines ? arguments.with("lines", true) : arguments;
  if (plan.score_positions.empty() || arguments.given("score_positions")) return out;
  if (parse_position_ranges(plan.score_positions)) {
    return out.with("score_positions", plan.score_positions);
  }
  throw Error(ErrorKind::usage, {.parameter = "score_positions",
                                 .problem = "missing mask: the plan was made with " +
                                            verbatim(plan.score_positions)});
}

void run_shrink_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  std::vector<Model> models = open_models(arguments, session);
  constexpr std::uint64_t kMaxPlan = 1'000'000'000;
  ShrinkRequest request{.plan_place = arguments.text("plan")};
  request.plan_text = session.files->read_text(request.plan_place, kMaxPlan);
  request.plan = read_plan(request.plan_text, request.plan_place);
  const PlanFile& plan = request.plan;
  std::erase_if(models, [&](const Model& model) { return model.stack() != plan.stack; });
  if (models.size() != 1) {
    throw Error(ErrorKind::usage,
                {.parameter = "models", .problem = "the plan is not of this stack of one model"});
  }
  const Model& model = models.front();
  check_plan(plan, model, request.plan_place);
  request.text =
      plan_text(with_examples_of(plan, arguments), session, model,
                {.sequences = plan.sequences,
                 .length = plan.length,
                 .sample = plan.sample ? std::optional(static_cast<std::uint64_t>(*plan.sample))
                                       : std::nullopt});
  request.folder = arguments.text("folder");
  if (arguments.text("dtype") != "same") request.form.dtype = dtype_of(arguments.text("dtype"));
  request.form.shard_bytes = *arguments.find<std::uint64_t>("shard_size");
  std::vector<Method> methods;
  for (const Choice& choice : plan.choices) methods.push_back(choice.method);
  report_memory(session, shrink_memory(model, methods, request.text, session.context));
  run_shrink(model, request, session.context, sink);
}

Parameters shrink_parameters() {
  return {{.name = "plan",
           .type = file,
           .help = "what plan wrote with format json, a form and a target",
           .positional = true,
           .metavariable = "PLAN.json",
           .missing = "is needed",
           .missing_hint =
               "attnscope plan MODEL {calibration_file} FILE with a form and a target makes it",
           .endings = {".json"}},
          {.name = "folder",
           .type = file,
           .help = "the new folder of the smaller model",
           .letter = 'o',
           .metavariable = "DIR",
           .missing = "name the folder to write",
           .missing_hint = "for example: {folder} smaller",
           .use = FileUse::folder,
           .endings = {".safetensors", ".json", ".md", ".txt", ".model"}},
          {.name = "dtype",
           .type = choice,
           .help = "of all weights",
           .metavariable = "NAME",
           .choices = {"same", "F32", "BF16", "F16"},
           .default_text = "same",
           .noun = "dtype"},
          {.name = "shard_size",
           .type = bytes,
           .help = "the largest file of weights",
           .metavariable = "SIZE",
           .default_text = "5G"}};
}

/// The report of `shrink` goes to stdout: its `o` is the folder.
Parameters report_parameters() {
  Parameters out = output_parameters();
  std::erase_if(out, [](const Parameter& parameter) { return parameter.name == "out"; });
  for (Parameter& parameter : out) {
    if (parameter.name == "format") parameter.default_words.clear();
  }
  return out;
}

}  // namespace

Command shrink_command() {
  return {.name = "shrink",
          .summary = "writes the smaller model that a plan leaves",
          .examples = {{{"models", "MODEL"},
                        {"plan", "plan.json"},
                        {"calibration_file", "book.txt"},
                        {"folder", "smaller"}}},
          .parameters = joined({remote_model_parameters(), shrink_parameters(),
                                plan_text_parameters(), run_parameters(), report_parameters()}),
          .exclusions = plan_text_exclusions(),
          .run = run_shrink_command};
}

}  // namespace attnscope
