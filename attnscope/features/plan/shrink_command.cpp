// `shrink`: writes the compressed model that a plan describes.
#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/options/device_options.h"
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

/// Adds the options that divide the text into examples as the plan did. A plan stores the name of a
/// mask file but not its path.
Arguments with_examples_of(const PlanFile& plan, const Arguments& arguments) {
  Arguments out = plan.lines ? arguments.with("lines", true) : arguments;
  if (plan.score_positions.empty() || arguments.given("score_positions")) return out;
  if (parse_position_ranges(plan.score_positions)) {
    return out.with("score_positions", plan.score_positions);
  }
  throw Error(ErrorKind::usage, {.parameter = "score_positions",
                                 .problem = "missing mask file: the plan was made with " +
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
    throw Error(ErrorKind::usage, {.parameter = "models",
                                   .problem = "expected only the model and stack that the "
                                              "plan was made for"});
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
  if (session.on_note)
    session.on_note(memory_note(shrink_memory(model, methods, request.text, session.context)));
  run_shrink(model, request, session.context, sink);
}

Parameters shrink_parameters() {
  return {{.name = "plan",
           .type = file,
           .help = "plan: JSON report of attnscope plan with a method and a target",
           .positional = true,
           .metavariable = "PLAN.json",
           .missing = "missing plan file",
           .missing_hint =
               "make one with: attnscope plan MODEL {calibration_file} FILE {method} METHOD {keep} "
               "SHARE {format} json",
           .endings = {".json"}},
          {.name = "folder",
           .type = file,
           .group = OptionGroup::output,
           .help = "new folder for the compressed model",
           .letter = 'o',
           .metavariable = "DIR",
           .missing = "missing output folder",
           .missing_hint = "for example: {folder} smaller",
           .use = FileUse::folder,
           .endings = {".safetensors", ".json", ".md", ".txt", ".model"}},
          {.name = "dtype",
           .type = choice,
           .group = OptionGroup::output,
           .help = "dtype of all weights",
           .metavariable = "NAME",
           .choices = {"same", "F32", "BF16", "F16"},
           .default_text = "same",
           .noun = "dtype"},
          {.name = "shard_size",
           .type = bytes,
           .group = OptionGroup::output,
           .help = "maximum size of a weights file",
           .metavariable = "SIZE",
           .default_text = "5G"}};
}

/// The report of `shrink` goes to stdout, because `-o` names the folder.
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
          .summary = "Write the compressed model that a plan describes",
          .examples = {{{"models", "MODEL"},
                        {"plan", "plan.json"},
                        {"calibration_file", "book.txt"},
                        {"folder", "smaller"}}},
          .parameters = joined({remote_model_parameters(), shrink_parameters(),
                                plan_text_parameters(), run_parameters(),
                                device_parameters(/*chooses_dtype=*/false), report_parameters()}),
          .exclusions = plan_text_exclusions(),
          .run = run_shrink_command};
}

}  // namespace attnscope
