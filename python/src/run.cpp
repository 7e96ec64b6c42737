// Runs commands, and single work items of them, on open models.
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/engine/work_item.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/all_commands.h"
#include "attnscope/features/framework/open_models.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/numerics/kernel_choice.h"
#include "attnscope/rows/json.h"
#include "python/src/bindings.h"
#include "python/src/elsewhere.h"
#include "python/src/interruptible.h"
#include "python/src/live_layers.h"
#include "python/src/open_model.h"
#include "python/src/table_report.h"

namespace attnscope::python {
namespace {

using Texts = std::vector<std::string>;

/// The state of a run. It is shared with the working thread, which may outlive the call.
struct Run {
  const Command* command = nullptr;
  ArgumentTexts arguments;
  std::map<std::string, std::vector<Model>> models = {};  // stacks of open models, by name

  std::shared_ptr<RunFiles> files = {};

  PyObject* elsewhere = nullptr;  // computes items; null: this process

  ReportCollector rows = {};
  std::ostringstream own = {};                            // output of a command without rows
  std::map<std::string, std::ostringstream> beside = {};  // other files, by path
  Texts warnings = {};
  Texts notes = {};  // only for a command without rows
};

/// Returns a JSON string literal, which is also a Python literal.
std::string quoted(const std::string& text) { return json_text(Value(text)); }

/// Returns the Python call that runs a command: attnscope.spectrum("MODEL", per_head=True).
std::string call_text(const Command& command, const ArgumentTexts& arguments) {
  Texts models, others;
  for (const auto& [name, text] : arguments) {
    const Parameter& parameter = *find_parameter(command, name);
    if (parameter.positional) {
      models.push_back(quoted(text));
      continue;
    }
    const bool as_it_is = parameter.type == ParameterType::integer;
    others.push_back(name + "=" + (text.empty() ? "True" : as_it_is ? text : quoted(text)));
  }
  std::string words = models.size() > 1 ? "[" + join(models) + "]" : join(models);
  if (!words.empty() && !others.empty()) words += ", ";
  return "attnscope." + command.name + "(" + words + join(others) + ")";
}

/// Excludes `out`, because Python receives the report or page and writes it itself.
std::vector<Parameter> file_parameters(const Command& command) {
  std::vector<Parameter> parameters = command.parameters;
  std::erase_if(parameters, [](const Parameter& parameter) { return parameter.name == "out"; });
  return parameters;
}

Session session_of(Run& run, const Arguments& arguments, const Waiter& waiter) {
  Session session = session_of(waiter, run.warnings);
  session.spell = keyword;
  run.files = files_of(file_parameters(*run.command), arguments);
  session.files = run.files;
  session.command_line = call_text;
  const Context asked = context_of(arguments);
  session.context.threads = asked.threads;
  session.context.memory_bytes = asked.memory_bytes;
  session.context.kernels = kernels_of_environment();
  session.find_open_model = [&run](const std::string& name,
                                   const std::string&) -> std::vector<Model> {
    const auto found = run.models.find(name);
    return found == run.models.end() ? std::vector<Model>() : found->second;
  };
  if (run.elsewhere != nullptr) {
    session.context.compute_elsewhere =
        Elsewhere(run.elsewhere, texts_of(open_models(arguments, session), arguments, session));
  }
  session.on_note = [&run](const std::string& note) {
    run.notes.push_back(spell_parameters(note, keyword));
  };
  session.open_file = [&run](const std::string& path) -> std::ostream& { return run.beside[path]; };
  session.write_file = [&run](const std::string& path, std::string_view content) {
    run.beside[path].str(std::string(content));
  };
  return session;
}

void work(Run& run, const Waiter& waiter) {
  const Arguments arguments = arguments_of(*run.command, run.arguments);
  const Session session = session_of(run, arguments, waiter);
  if (run.command->write != nullptr) {
    run.command->write(arguments, session, run.own);
  } else {
    run_rows(*run.command, arguments, session, run.rows);
  }
}

/// Returns the bytes of a file as an array, without a copy.
nb::object bytes_array(std::ostringstream stream) {
  auto text = std::make_unique<std::string>(std::move(stream).str());
  const std::size_t size = text->size();
  auto* held = text.release();
  const nb::capsule owner(
      held, [](void* pointer) noexcept { delete static_cast<std::string*>(pointer); });
  return nb::cast(nb::ndarray<nb::numpy, const std::uint8_t>(held->data(), {size}, owner));
}

nb::dict run_command(const std::string& name, ArgumentTexts arguments,
                     const std::map<std::string, const OpenModel*>& models,
                     const nb::object& show_progress, const nb::object& elsewhere,
                     const nb::object& layers) {
  const auto run = std::make_shared<Run>(
      Run{.command = &find_command_named(name), .arguments = std::move(arguments)});
  for (const auto& [name_of_it, open] : models) run->models.emplace(name_of_it, open->models);
  if (!elsewhere.is_none()) run->elsewhere = elsewhere.ptr();
  for (auto& [name_of_it, stacks] : run->models) {
    if (!layers.is_none()) run_layers_in_python(stacks, layers, PythonExceptions::pass_on);
  }
  run_interruptibly([run](const Waiter& waiter) { work(*run, waiter); }, show_progress,
                    nb::make_tuple(elsewhere, layers));
  nb::dict out;
  if (run->command->write == nullptr) {
    out["report"] = nb::cast(std::make_unique<TableReport>(run->rows.take()));
  } else {
    out["text"] = bytes_array(std::move(run->own));
  }
  nb::dict files;
  for (auto& [path, stream] : run->beside) files[path.c_str()] = bytes_array(std::move(stream));
  out["files"] = files;
  out["run_files"] = run->files;
  out["warnings"] = run->warnings;
  out["notes"] = run->notes;
  return out;
}

/// Computes one item of an open model and returns the text of its outcomes.
std::string compute_here(const std::string& item, const OpenModel& open, int threads) {
  struct Work {
    WorkItem item;
    std::vector<Model> models;
    std::string text;
  };
  const auto work = std::make_shared<Work>(
      Work{.item = parse_work_item(item, "work item"), .models = open.models});
  work->item.model = 0;
  run_interruptibly(
      [work, threads](const Waiter& waiter) {
        const Context context{
            .threads = threads, .kernels = kernels_of_environment(), .stop = waiter.stop};
        LentTeam team(context);
        work->text =
            outcomes_text(compute_item(work->item, sources_of(work->models), team.compute()));
      },
      nb::none(), nb::none(), WorkThread::stays);
  return work->text;
}

}  // namespace

void bind_run(nb::module_& module) {
  nb::class_<RunFiles>(module, "RunFiles", "The input and output files of a run.")
      .def(
          "check_output",
          [](const RunFiles& files, const std::string& path) { files.check_output("path", path); },
          nb::arg("path"), "Raise UsageError if the path is an input file of the run.");
  module.def("compute_item", &compute_here, nb::arg("item"), nb::arg("model"), nb::arg("threads"),
             "Compute a work item and return its serialized outcomes.");
  module.def(
      "run", &run_command, nb::arg("command"), nb::arg("arguments"), nb::arg("models"),
      nb::arg("show_progress").none(), nb::arg("elsewhere").none(), nb::arg("layers").none(),
      nb::sig(
          "def run(command: str, arguments: collections.abc.Sequence[tuple[str, str]], models: "
          "collections.abc.Mapping[str, OpenModel], show_progress: collections.abc.Callable[..., "
          "None] | None, elsewhere: collections.abc.Callable[[str, str, "
          "collections.abc.Callable[[], bool]], str | None] | None, layers: typing.Any) -> "
          "dict[str, typing.Any]"),
      "Run a command with texts as parameters. `models`: the open models, by name. `elsewhere`: "
      "computes items; `layers`: runs the layers of the models. None: the library.");
}

}  // namespace attnscope::python
