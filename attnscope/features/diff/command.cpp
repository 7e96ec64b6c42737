// `diff`: compares a fine-tuned model with its base and writes the change as a LoRA adapter.
#include "attnscope/checkpoint/peft/adapter_files.h"
#include "attnscope/features/diff/run.h"

#include <filesystem>
#include <optional>

#include "attnscope/base/error.h"
#include "attnscope/base/new_folder.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/diff/make_adapter.h"
#include "attnscope/features/framework/open_models.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::int64_t kMaxAdapterRank = 1'000'000;

/// The name of the model with an adapter in rows: its folder, preceded by parent folders if that is
/// the name of the base.
std::string name_of_adapter(const std::filesystem::path& given, const std::string& base) {
  const std::filesystem::path path = std::filesystem::absolute(given).lexically_normal();
  std::filesystem::path folder = path.has_filename() ? path : path.parent_path();
  std::string name = folder.filename().string();
  while (name == base && folder.has_relative_path()) {
    folder = folder.parent_path();
    name = folder.filename().string() + '/' + name;
  }
  return name;
}

/// The base model with the adapter merged into it.
Model merge_adapter(const Model& base, const std::string& path, const Session& session,
                    RowSink& notes) {
  std::optional<MergedAdapter> merged;
  const auto work = [&](const Compute& compute) {
    merged = with_adapter(base, path, name_of_adapter(path, base.name()), compute);
  };
  run_with_all_threads(session.context, work);
  for (const std::string& note : merged->notes) notes.add_note(verbatim(note));
  return std::move(merged->model);
}

/// The base and the fine-tuned model. An adapter is merged into a copy of the base.
std::vector<Model> open_pair(const Arguments& arguments, const Session& session, RowSink& notes) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  if (named.size() != 2) {
    throw Error(ErrorKind::usage,
                {.parameter = "models",
                 .problem = "expected two models: the base, then the fine-tuned model"});
  }
  const NamedModel& tuned = named.back();
  const bool is_local = is_folder(tuned) && !tuned.on_hub;
  const CheckpointFolder folder(tuned.path);
  const bool is_adapter = is_local && has_adapter(folder);
  const std::vector<std::string> base = {named.front().text};
  std::vector<Model> models =
      open_models(is_adapter ? arguments.with("models", base) : arguments, session);
  if (models.size() != (is_adapter ? 1u : 2u)) {
    throw Error(ErrorKind::unsupported,
                {.parameter = "models",
                 .problem = "diff compares one stack at a time: select it with {stack}"});
  }
  if (is_adapter) {
    models.push_back(merge_adapter(models.front(), tuned.path, session, notes));
  } else if (is_local && !adapter_weights(folder).empty() && folder.has(kAdapterConfigName)) {
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
                       {{"models", "BASE"}, {"models", "ADAPTER"}, {"matrix", "q,v"}}},
          .parameters =
              joined({compared_models(), diff_parameters(), run_parameters(), output_parameters()}),
          .exclusions = {{"rank", {"lora_energy"}, "sets one rank for all matrices"}},
          .run = run_diff_command};
}

}  // namespace attnscope
