// `plan`: which smaller model to make, and what it costs. `shrink`: makes it.
#include "attnscope/features/plan/run.h"

#include <algorithm>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/calibration/calibration_text.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/plan/memory.h"
#include "attnscope/features/plan/plan_file.h"
#include "attnscope/features/plan/rank_sensitivity.h"
#include "attnscope/features/plan/size_target.h"
#include "attnscope/inputs/text/score_positions.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMostWindows = 1'000'000;

Model only_model(std::vector<Model> models, const std::string& otherwise) {
  if (models.size() == 1) return std::move(models.front());
  throw Error(ErrorKind::usage, {.parameter = "models", .problem = otherwise});
}

std::vector<std::string> form_names() { return {kFormNames.begin(), kFormNames.end()}; }

RankMethod method_of(const std::string& name) {
  if (name == "energy") return RankMethod::energy;
  if (name == "uniform") return RankMethod::uniform;
  return name == "plain" ? RankMethod::plain : RankMethod::kl;
}

void run_plan_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  const Model model =
      only_model(open_models(arguments, session),
                 "a plan is of one model, or of one stack of it: MODEL:encoder, MODEL:decoder");
  const StoringContext context(arguments, session);
  PlanRequest request;
  for (const std::string& name : arguments.texts("by")) {
    request.by.push_back(*form_from_name(name));
  }
  request.target = plan_target(arguments, model, request.by);
  request.method = method_of(arguments.text("method"));
  request.ridge = number_of_text("ridge", arguments.text("ridge"));
  if (request.ridge < 0 || request.ridge > kMostRidge) {
    throw Error(ErrorKind::usage,
                {.parameter = "ridge",
                 .problem = "is out of range, expected from 0 to " + shortest_decimal(kMostRidge)});
  }
  request.probe_tokens = *arguments.integer("probe_tokens");
  request.round = *arguments.integer("round");
  request.matrices = arguments.roles("matrix");
  request.layers = arguments.layers("layers");
  const bool narrowed = arguments.given("layers") || arguments.given("matrix");
  if (narrowed && request.by != std::vector{Form::ranks}) {
    throw Error(ErrorKind::usage,
                {.parameter = arguments.given("layers") ? "layers" : "matrix",
                 .problem = "only ranks differ by layer and matrix: give {by} ranks"});
  }
  const auto sample = arguments.integer("sample");
  request.text = plan_text(
      arguments, session, model,
      {.sequences = arguments.integer("sequences"),
       .length = arguments.integer("length"),
       .sample = sample ? std::optional(static_cast<std::uint64_t>(*sample)) : std::nullopt});
  constexpr std::int64_t kMeasuredTokens = 8192;
  request.held_out_sequences = arguments.integer("held_out_sequences")
                                   .value_or(std::max<std::int64_t>(
                                       1, kMeasuredTokens / std::ssize(request.text.held_out[0])));
  say_memory(session, plan_memory(model, request, context));
  run_plan_of_model(model, request, context, sink);
}

Parameters plan_parameters() {
  return {
      {.name = "sequences",
       .type = integer,
       .help = "windows of the text that are fitted to",
       .metavariable = "N",
       .least = 1,
       .most = kMostWindows,
       .default_words = "16 times as many tokens as the widest matrix has inputs"},
      {.name = "length",
       .type = integer,
       .help = "tokens of each window",
       .metavariable = "T",
       .least = 2,
       .most = kMostWindows,
       .default_words = "the context, at most 2048"},
      {.name = "sample",
       .type = integer,
       .help = "random windows by this seed",
       .metavariable = "SEED",
       .least = 0,
       .most = kMaxSize,
       .default_words = "one after the other from the start"},
      {.name = "by",
       .type = several,
       .help = "the form that the smaller model takes, or several, one after another",
       .metavariable = "FORMS",
       .choices = form_names(),
       .default_words = "all that the architecture allows, as a menu",
       .noun = "form"},
      {.name = "keep",
       .type = text,
       .help = "the share of the parameters to keep (of ranks: of the projections', as factors)",
       .metavariable = "SHARE"},
      {.name = "kv_bytes",
       .type = text,
       .help = "the share of the KV cache's bytes a token to keep, or bytes",
       .metavariable = "SHARE"},
      {.name = "max_perplexity",
       .type = text,
       .help = "the smallest model within this perplexity, or so much more: +5%",
       .metavariable = "P"},
      {.name = "set",
       .type = text,
       .help = "exactly this: without=2,4 width=384 hidden=144 head-width=16 kv-heads=1 heads=4 "
               "latent=32+32 experts=6 ranks=0.q:64,3.up:100",
       .metavariable = "CHOICE"},
      {.name = "matrix",
       .type = roles,
       .metavariable = "NAMES",
       .choices = role_names(),
       .default_words = "of ranks: all projections"},
      {.name = "layers",
       .type = layers,
       .help = "of ranks: only matrices of these layers",
       .metavariable = "LAYERS",
       .default_words = "all"},
      {.name = "round",
       .type = integer,
       .help = "ranks and widths are multiples of it",
       .metavariable = "N",
       .least = 1,
       .most = kMaxSize,
       .default_text = "1"},
      {.name = "held_out_sequences",
       .type = integer,
       .help = "held-out windows on which orders and the menu are measured; a chosen plan is "
               "measured on all",
       .metavariable = "N",
       .least = 1,
       .most = kMostWindows,
       .default_words = "as many as have 8,192 tokens"},
      {.name = "probe_tokens",
       .type = integer,
       .help = "of ranks: tokens on which each matrix is probed",
       .metavariable = "N",
       .least = 2,
       .most = kMaxSize,
       .default_text = "1024"},
      {.name = "ridge",
       .type = text,
       .help = "of ranks: share of the mean second moment that is added to each",
       .metavariable = "X",
       .default_text = "0.01"},
      {.name = "method",
       .type = choice,
       .help = "how ranks are allocated: by probes, the same share of each matrix's energy, all "
               "alike, or so without the text",
       .metavariable = "NAME",
       .choices = {"kl", "energy", "uniform", "plain"},
       .default_text = "kl",
       .noun = "method"}};
}

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
  const Model model = only_model(std::move(models), "the plan is not of this stack of one model");
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
  std::vector<Form> forms;
  for (const Choice& choice : plan.choices) forms.push_back(choice.form);
  say_memory(session, shrink_memory(model, forms, request.text, session.context));
  run_shrink(model, request, session.context, sink);
}

Parameters shrink_parameters() {
  return {
      {.name = "plan",
       .type = file,
       .help = "what plan wrote with format json, a form and a target",
       .positional = true,
       .metavariable = "PLAN.json",
       .missing = "is needed",
       .missing_hint = "attnscope plan MODEL {text_file} FILE with a form and a target makes it",
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

Command plan_command() {
  return {.name = "plan",
          .summary = "what can be left out of a model, at what cost, measured",
          .examples = {{{"models", "MODEL"}, {"text_file", "book.txt"}},
                       {{"models", "MODEL"},
                        {"text_file", "book.txt"},
                        {"by", "width"},
                        {"keep", "0.8"},
                        {"out", "plan.json"}},
                       {{"models", "MODEL"},
                        {"text_file", "book.txt"},
                        {"by", "hidden,width"},
                        {"keep", "0.7"}},
                       {{"models", "MODEL"},
                        {"text_file", "book.txt"},
                        {"by", "latent"},
                        {"kv_bytes", "0.5"}},
                       {{"models", "MODEL"},
                        {"text_file", "book.txt"},
                        {"by", "layers"},
                        {"max_perplexity", "+5%"}}},
          .parameters = joined({remote_model_parameters(),
                                plan_text_parameters(),
                                plan_parameters(),
                                run_parameters(),
                                {store_parameter()},
                                output_parameters()}),
          .exclusions = plan_text_exclusions(),
          .analyses = {&layer_ranks_analysis()},
          .run = run_plan_command};
}

Command shrink_command() {
  return {.name = "shrink",
          .summary = "writes the smaller model that a plan leaves",
          .examples = {{{"models", "MODEL"},
                        {"plan", "plan.json"},
                        {"text_file", "book.txt"},
                        {"folder", "smaller"}}},
          .parameters = joined({remote_model_parameters(), shrink_parameters(),
                                plan_text_parameters(), run_parameters(), report_parameters()}),
          .exclusions = plan_text_exclusions(),
          .run = run_shrink_command};
}

}  // namespace attnscope
