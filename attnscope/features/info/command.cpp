#include "attnscope/features/info/run.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/model/config/parse_config.h"
#include "attnscope/model/layout/layout_file.h"
#include "attnscope/model/layout/suggested_layout.h"
#include "attnscope/model/layout/torch_layers.h"

namespace attnscope {
namespace {

constexpr const char* kConfigFile = "config.json";

/// Returns the config.json of a model without a layout file.
std::string config_of(const Checkpoint& checkpoint) {
  if (checkpoint.config()) return *checkpoint.config();
  constexpr std::uint64_t kMaxBytes = 10'000'000;
  return checkpoint.folder().read_text(kConfigFile, kMaxBytes);
}

[[noreturn]] void refuse_suggestion(ErrorKind kind, const Checkpoint& checkpoint,
                                    std::string problem, std::string hint) {
  throw Error(kind, {.file = checkpoint.main_file().string(),
                     .problem = verbatim(std::move(problem)),
                     .hint = std::move(hint)});
}

/// Refuses models of supported architectures, which need no layout file.
void refuse_known(const Checkpoint& checkpoint, const std::string& config) {
  std::string name;
  try {
    name = parse_stacks(config, "config.json").front().architecture.name;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported) return;
    throw;
  }
  refuse_suggestion(ErrorKind::usage, checkpoint,
                    "'" + printable(name) + "' is a supported architecture",
                    "omit {suggest_layout}");
}

bool has_config(const Checkpoint& checkpoint) {
  return checkpoint.config() || checkpoint.folder().has(kConfigFile);
}

/// Writes a layout file for layers of torch.nn, in which the user adds the number of heads.
void run_suggested_torch(const Arguments& arguments, const Session& session,
                         const UndescribedCheckpoint& of, RowSink& sink) {
  const auto found = layout_of_torch_layers(of.checkpoint);
  if (!found) {
    refuse_suggestion(ErrorKind::unsupported, of.checkpoint,
                      "has no config.json, and its tensor names and shapes do not match layers of "
                      "torch.nn",
                      "write a layout file by hand: docs/formats.md#layout-files");
  }
  open_output(arguments, session, "suggest_layout") << found->layout;
  const std::string file = arguments.text("suggest_layout");
  std::vector<std::string> notes = {
      "the layout describes the weights of nn.TransformerEncoderLayer or "
      "nn.TransformerDecoderLayer. No file stores the number of heads: set 'heads' in " +
      file + " to nhead"};
  if (found->others > 0) {
    notes.push_back("the layout describes '" + found->prefix + "layers' only, and leaves out " +
                    counted(found->others, "other matrix", "other matrices"));
  }
  run_tensor_list(of, notes, sink);
}

/// Lists the tensors of a single model that has no config, or that is an unsupported variant of
/// another program's format. For other errors, throws `error`, for which it could not be opened.
void run_undescribed(const Arguments& arguments, const Session& session, const Error& error,
                     RowSink& sink) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  const bool single = !arguments.given("layout") && !arguments.given("stack") &&
                      named.size() == 1 && named.front().stack.empty();
  const bool refused = error.kind() == ErrorKind::unsupported;
  if (!single || (!refused && error.kind() != ErrorKind::io)) throw error;
  const NamedCheckpoints opened = open_checkpoints(arguments, session);
  const Checkpoint& checkpoint = *opened.checkpoints.front();
  if (has_config(checkpoint)) throw error;
  const std::vector<std::string> notes = {
      (refused ? error.parts().problem
               : "no config.json describes the model, so roles are unknown") +
      std::string(layout_of_torch_layers(checkpoint)
                      ? ". Its tensors are named as in layers of torch.nn: write a layout file "
                        "with {suggest_layout} FILE.json"
                      : ". To analyze attention, describe the model with {layout} FILE.json "
                        "(docs/formats.md#layout-files). 'spectrum {tensor} NAME' needs no "
                        "layout")};
  run_tensor_list({checkpoint, opened.names.front()}, notes, sink);
}

/// Writes a layout file for one model, and prints the model as the file describes it.
void run_suggested(const Arguments& arguments, const Session& session, RowSink& sink) {
  const std::vector<NamedModel> named = named_models(arguments, session);
  if (named.size() != 1) {
    throw Error(ErrorKind::usage,
                {.parameter = "suggest_layout", .problem = "expects exactly one model"});
  }
  Checkpoint opened = open_checkpoint(named.front(), arguments.flag("remote"), session);
  const std::string name = names_of(named).front();
  session.files->add_model(opened, name, is_folder(named.front()));
  if (!has_config(opened)) return run_suggested_torch(arguments, session, {opened, name}, sink);
  const std::string config = config_of(opened);
  refuse_known(opened, config);
  compose_by_config(opened);
  const auto checkpoint = std::make_shared<const Checkpoint>(std::move(opened));
  const std::optional<LayoutOffer> offer = offered_layout(checkpoint, config);
  if (!offer) {
    refuse_suggestion(ErrorKind::unsupported, *checkpoint,
                      "tensor names and shapes do not match Llama, BERT, RoBERTa or GPT-NeoX",
                      "write a layout file by hand: docs/formats.md#layout-files");
  }
  open_output(arguments, session, "suggest_layout") << offer->text;
  const Model model(checkpoint, parse_layout(offer->text, arguments.text("suggest_layout")), name);
  const std::string shared = "the layout assumes the tensor roles of " + offer->like + ". ";
  std::vector<std::string> notes;
  if (offer->doubts.empty()) {
    notes.push_back(shared +
                    "The forward pass is inferred from names and config alone. Compare its logits "
                    "with those of the original model before you trust the results");
  } else {
    notes.push_back(shared + "It supports analyses of weights only: " + join(offer->doubts, "; "));
  }
  run_info(std::span(&model, 1), session.context, sink, notes);
}

void run_info_command(const Arguments& arguments, const Session& session, RowSink& sink) {
  if (arguments.flag("system")) {
    return run_system_info(ATTNSCOPE_VERSION, session.context.kernels, sink);
  }
  if (arguments.given("suggest_layout")) return run_suggested(arguments, session, sink);
  std::vector<Model> models;
  try {
    models = open_models(arguments, session);
  } catch (const Error& error) {
    return run_undescribed(arguments, session, error, sink);
  }
  run_info(models, session.context, sink);
}

Parameters parameters() {
  Parameters own = remote_model_parameters();
  own.front().not_needed_with = "system";
  own.push_back({.name = "system",
                 .type = ParameterType::flag,
                 .help = "report this machine, its kernels and libraries; takes no model"});
  own.push_back({.name = "suggest_layout",
                 .type = ParameterType::file,
                 .help = "write a layout file for a model of an unsupported architecture",
                 .metavariable = "FILE",
                 .use = FileUse::written,
                 .endings = {".json"}});
  return joined({own, output_parameters()});
}

}  // namespace

Command info_command() {
  return {.name = "info",
          .summary = "Show model metadata, tensors and their roles",
          .examples = {{{"models", "examples/shakespeare-gpt2"}}, {{"system", ""}}},
          .parameters = parameters(),
          .exclusions = {{"system", {"models", "suggest_layout"}, "reports on this machine"},
                         {"suggest_layout", {"layout", "stack"}, "describes the whole model"}},
          .run = run_info_command};
}

}  // namespace attnscope
