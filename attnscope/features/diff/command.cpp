// `diff`: compares a fine-tuned model with its base and writes the change as a LoRA adapter.
#include "attnscope/checkpoint/peft/adapter_files.h"
#include "attnscope/features/diff/run.h"

#include "attnscope/base/error.h"
#include "attnscope/base/new_folder.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/diff/adapter.h"
#include "attnscope/features/diff/make_adapter.h"
#include "attnscope/features/framework/open_models.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMaxAdapterRank = 1'000'000;

/// The base and the fine-tuned model. Of an adapter alone, the first model is the base.
std::vector<Model> open_pair(const Arguments& arguments, const Session& session, RowSink& notes) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  if (named.size() != 2) {
    throw Error(ErrorKind::usage,
                {.parameter = "models",
                 .problem = "expected two models: the base, then the fine-tuned model"});
  }
  const NamedModel &base = named.front(), &tuned = named.back();
  std::vector<std::string> texts = {base.text, tuned.text};
  if (tuned.base_of_config && !base.adapter) {
    texts.back() = base.path + "+" + tuned.adapter->path;
    if (!tuned.stack.empty()) texts.back() += ":" + tuned.stack;
    if (!base.stack.empty() && tuned.stack.empty()) texts.back() += ":" + base.stack;
  }
  std::vector<Model> models = open_models(arguments.with("models", texts), session);
  if (models.size() != 2) {
    throw Error(ErrorKind::unsupported,
                {.parameter = "models",
                 .problem = "diff compares one stack at a time: select it with {stack}"});
  }
  const CheckpointFolder folder(tuned.path);
  const bool has_both = !tuned.adapter && !tuned.base.on_hub && is_folder(tuned) &&
                        !adapter_weights(folder).empty() && folder.has(kAdapterConfigName);
  if (has_both) {
    notes.add_note(verbatim(tuned.path + " contains a model and an adapter; comparing the model"));
  }
  return models;
}

std::string adapter_card(const Model& base, const Model& tuned, const Adapter& adapter) {
  return "---\nlibrary_name: peft\nbase_model: " + adapter.base + "\n---\n\n# " + tuned.name() +
         " as a LoRA adapter\n\nCreated by attnscope from the difference between " + tuned.name() +
         " and " + base.name() + ": the top singular vectors of the change in " +
         std::to_string(adapter.modules.size()) + " linear layers, and " +
         std::to_string(adapter.whole.size()) + " other tensors in full.\n";
}

void write_lora(const Arguments& arguments, const Session& session, const Model& base,
                const Model& tuned, RowSink& notes) {
  AdapterRank rank{.rank = arguments.integer("rank")};
  const std::vector<double> energy = arguments.shares("lora_energy");
  if (energy.size() != 1) {
    throw Error(ErrorKind::usage,
                {.parameter = "lora_energy", .problem = "expected a single share"});
  }
  rank.energy = energy.front();
  NewFolder folder(arguments.text("lora"));
  const Adapter adapter = make_adapter(base, tuned, rank, session.context, notes);
  write_adapter(adapter, adapter_card(base, tuned, adapter), folder);
  folder.commit();
}

void run_diff_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  const std::vector<Model> models = open_pair(arguments, session, sink);
  const DiffRequest request{.energy = arguments.shares("energy"),
                            .matrices = arguments.roles("matrix"),
                            .layers = arguments.layers("layers"),
                            .per_head = arguments.flag("per_head")};
  if (arguments.given("lora")) write_lora(arguments, session, models[0], models[1], sink);
  run_diff(models[0], models[1], request, session.context, sink);
}

Parameters compared_models() {
  Parameters parameters = remote_model_parameters();
  parameters.front().metavariable = "BASE FINETUNED";
  return parameters;
}

Parameters diff_parameters() {
  return {{.name = "matrix",
           .type = roles,
           .help = "comma-separated matrices",
           .metavariable = "NAMES",
           .choices = role_names(),
           .default_words = "all projections of the model"},
          {.name = "layers",
           .type = layers,
           .help = "layers, e.g. 0-3,-4-; negative numbers count from the end",
           .metavariable = "LAYERS",
           .default_words = "all"},
          per_head_flag(),
          energy_parameter({0.9, 0.99}),
          {.name = "lora",
           .type = file,
           .group = OptionGroup::output,
           .help = "write the change as a PEFT LoRA adapter into this new folder",
           .metavariable = "DIR",
           .use = FileUse::folder,
           .endings = {".safetensors", ".json", ".md"}},
          {.name = "rank",
           .type = integer,
           .group = OptionGroup::output,
           .help = "with {lora}: rank of all adapter matrices",
           .metavariable = "R",
           .least = 1,
           .most = kMaxAdapterRank},
          {.name = "lora_energy",
           .type = shares,
           .group = OptionGroup::output,
           .help = "with {lora}: share of the energy that each adapter matrix keeps",
           .metavariable = "SHARE",
           .default_text = "0.9"}};
}

}  // namespace

Command diff_command() {
  return {.name = "diff",
          .summary = "Compare a fine-tuned model with its base",
          .examples = {{{"models", "BASE"}, {"models", "FINETUNED"}},
                       {{"models", "BASE"}, {"models", "FINETUNED"}, {"per_head", ""}},
                       {{"models", "BASE"},
                        {"models", "FINETUNED"},
                        {"lora", "adapter"},
                        {"lora_energy", "0.99"}},
                       {{"models", "BASE"}, {"models", "BASE+ADAPTER"}, {"matrix", "q,v"}}},
          .parameters =
              joined({compared_models(), diff_parameters(), run_parameters(), output_parameters()}),
          .exclusions = {{"rank", {"lora_energy"}, "sets one rank for all matrices"}},
          .run = run_diff_command};
}

}  // namespace attnscope
