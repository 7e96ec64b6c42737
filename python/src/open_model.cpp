#include "python/src/open_model.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/hub/hub.h"
#include "attnscope/hub/settings.h"
#include "attnscope/inputs/text/tokenizer.h"
#include "attnscope/model/layout/suggested_layout.h"
#include "attnscope/model/summary.h"
#include "attnscope/rows/json.h"
#include "python/src/array_view.h"
#include "python/src/bindings.h"

namespace attnscope::python {
namespace {

/// Converts the progress of a download: its items are files.
Progress progress_of(const DownloadProgress& download) {
  Progress progress{.items_done = download.files_done,
                    .items_total = download.files_total,
                    .bytes_done = download.bytes_done,
                    .bytes_total = download.bytes_total,
                    .seconds = download.seconds};
  if (download.bytes_come > 0 && download.seconds > 0) {
    const auto left = static_cast<double>(download.bytes_total - download.bytes_done);
    progress.seconds_left = left * download.seconds / static_cast<double>(download.bytes_come);
  }
  return progress;
}

struct Opening {
  std::string name;
  std::vector<std::string> warnings;
  std::vector<Model> models;
};

std::unique_ptr<OpenModel> open_model(const std::string& name, const std::string& layout,
                                      bool remote, const nb::object& show_progress) {
  ArgumentTexts given = {{"models", name}};
  if (!layout.empty()) given.emplace_back("layout", layout);
  if (remote) given.emplace_back("remote", "");
  const auto opening = std::make_shared<Opening>();
  run_interruptibly(
      [opening, arguments = arguments_of(find_command_named("info"), given),
       name](const Waiter& waiter) {
        const Session session = session_of(waiter, opening->warnings);
        const std::vector<NamedModel> named = named_models(arguments, session);
        if (named.size() != 1) {
          throw Error(ErrorKind::usage, {.parameter = "models",
                                         .problem = "'" + verbatim(name) + "' matches " +
                                                    std::to_string(named.size()) + " models",
                                         .hint = "pass it to a command to analyze all of them"});
        }
        // Commands find the model under this name; of an adapter alone, it includes the base.
        opening->name = named.front().base_of_config ? named.front().text : name;
        opening->models = open_models(arguments, session);
      },
      show_progress);
  return std::make_unique<OpenModel>(
      OpenModel{opening->models, opening->name, layout, remote, opening->warnings});
}

using NamedArrays = std::vector<std::pair<std::string, nb::object>>;

/// Takes references to the arrays, without copies.
void add_tensors(TensorsInMemory& memory, const NamedArrays& tensors) {
  std::vector<AnyArray> arrays;
  for (const auto& [tensor, object] : tensors) {
    try {
      arrays.push_back(array_of(object));
      memory.tensors.push_back({tensor, view_of(arrays.back())});
    } catch (const nb::builtin_exception& error) {
      throw nb::builtin_exception(error.type(),
                                  ("tensor '" + tensor + "': " + error.what()).c_str());
    }
  }
  memory.owner = owned_by_library(std::move(arrays));
}

std::unique_ptr<OpenModel> open_in_memory(const std::string& name, const NamedArrays& tensors,
                                          std::optional<std::string> config,
                                          std::optional<std::string> tokenizer,
                                          std::optional<std::string> tokenizer_config,
                                          const std::string& layout) {
  TensorsInMemory memory{.name = name,
                         .config = std::move(config),
                         .tokenizer = std::move(tokenizer),
                         .tokenizer_config = std::move(tokenizer_config)};
  add_tensors(memory, tensors);
  const auto opening = std::make_shared<Opening>();
  const auto shared = std::make_shared<TensorsInMemory>(std::move(memory));
  run_interruptibly(
      [opening, shared, layout](const Waiter&) {
        const std::string called = shared->name;
        Checkpoint checkpoint = Checkpoint::in_memory(std::move(*shared));
        std::optional<std::filesystem::path> file;
        if (!layout.empty()) file = layout;
        opening->models = Model::open_stacks(std::move(checkpoint), file,
                                             std::filesystem::path(called).filename().string());
      },
      nb::none());
  return std::make_unique<OpenModel>(OpenModel{opening->models, name, layout});
}

/// Returns the text of a layout for weights of an unknown architecture, and why it does not
/// describe the forward pass. None: the tensors' names are unknown.
std::optional<std::pair<std::string, std::vector<std::string>>> suggested_layout(
    const NamedArrays& tensors, const std::string& config) {
  TensorsInMemory memory{.name = "model", .config = config};
  add_tensors(memory, tensors);
  const auto checkpoint =
      std::make_shared<const Checkpoint>(Checkpoint::in_memory(std::move(memory)));
  std::optional<LayoutOffer> offer = offered_layout(checkpoint, config);
  if (!offer) return std::nullopt;
  return std::pair(std::move(offer->text), std::move(offer->doubts));
}

/// Throws if the files have changed, because another process would open the new ones.
void check_current(const OpenModel& model) {
  for (const MappedFile& file : model.models.front().checkpoint().files()) {
    if (file.is_remote()) continue;
    file.check_intact();
    const FileState now = MappedFile(file.path()).state();
    const FileState& then = file.state();
    if (now.bytes == then.bytes && now.modified_ns == then.modified_ns &&
        now.changed_ns == then.changed_ns) {
      continue;
    }
    throw Error(ErrorKind::io, {.file = file.path().string(),
                                .problem = "was replaced since the model was opened, but "
                                           "executor workers must open the same file",
                                .hint = "open the model again"});
  }
}

/// Returns the text of each token, or nothing for models without a tokenizer.
std::optional<std::vector<std::string>> token_texts(const OpenModel& model,
                                                    const std::vector<std::int64_t>& ids) {
  const std::optional<Tokenizer> tokenizer = shown_tokens_of(model.models.front()).tokenizer;
  if (!tokenizer) return std::nullopt;
  std::vector<std::string> texts;
  for (const std::int64_t id : ids) texts.push_back(tokenizer->text(id));
  return texts;
}

}  // namespace

Session session_of(const Waiter& waiter, std::vector<std::string>& warnings) {
  Session session;
  session.context.stop = waiter.stop;
  session.context.on_progress = waiter.on_progress;
  session.hub =
      std::make_shared<Hub>(HubContext{.settings = hub_settings_of_environment(),
                                       .stop = waiter.stop,
                                       .on_note =
                                           [&warnings](const std::string& note) {
                                             warnings.push_back(spell_parameters(note, keyword));
                                           }},
                            [show = waiter.on_progress](const DownloadProgress& download) {
                              show(progress_of(download));
                            });
  session.on_warning = [&warnings](const ErrorParts& warning) {
    warnings.push_back(error_text(warning, keyword));
  };
  return session;
}

void bind_models(nb::module_& module) {
  nb::class_<OpenModel>(module, "OpenModel", "A model with open files, or with tensors in memory.")
      .def_ro("name", &OpenModel::name)
      .def_ro("layout", &OpenModel::layout)
      .def_ro("is_remote", &OpenModel::is_remote)
      .def_ro("warnings", &OpenModel::warnings)
      .def_prop_ro(
          "is_in_memory",
          [](const OpenModel& self) { return self.models.front().checkpoint().is_in_memory(); })
      .def("token_texts", &token_texts, nb::arg("ids"),
           "Return the text of each token. None: the model has no tokenizer.")
      .def("check_current", &check_current, "Raise IoError if the open files have been replaced.")
      .def_prop_ro("row_name",
                   [](const OpenModel& self) {
                     const Model& first = self.models.front();
                     const std::size_t ending = first.stack().size() + 1;
                     if (self.models.size() == 1) return first.name();
                     return first.name().substr(0, first.name().size() - ending);
                   })
      .def_prop_ro(
          "facts",
          [](const OpenModel& self) {
            Value::List facts;
            for (const Model& model : self.models)
              facts.emplace_back(facts_record(summarize(model)));
            return json_text(Value(std::move(facts)));
          },
          "Metadata of each stack, as a JSON list.");
  module.def("open_model", &open_model, nb::arg("name"), nb::arg("layout"), nb::arg("remote"),
             nb::arg("show_progress").none(),
             nb::sig("def open_model(name: str, layout: str, remote: bool, show_progress: "
                     "collections.abc.Callable[..., None] | None) -> OpenModel"));
  module.def(
      "open_in_memory", &open_in_memory, nb::arg("name"), nb::arg("tensors"),
      nb::arg("config").none(), nb::arg("tokenizer").none(), nb::arg("tokenizer_config").none(),
      nb::arg("layout"),
      nb::sig("def open_in_memory(name: str, tensors: collections.abc.Sequence[tuple[str, "
              "typing.Any]], config: str | None, tokenizer: str | None, tokenizer_config: str | "
              "None, layout: str) -> OpenModel"));
  module.def(
      "suggested_layout", &suggested_layout, nb::arg("tensors"), nb::arg("config"),
      nb::sig("def suggested_layout(tensors: collections.abc.Sequence[tuple[str, typing.Any]], "
              "config: str) -> tuple[str, list[str]] | None"),
      "Return the text of a layout for weights of an unknown architecture, and why it does not "
      "describe the forward pass. None: the tensors' names are unknown.");
}

}  // namespace attnscope::python
