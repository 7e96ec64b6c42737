// The command line, for the program that a wheel installs.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attnscope/cli/app.h"
#include "attnscope/features/common/options/device_options.h"
#include "python/src/bindings.h"
#include "python/src/elsewhere.h"
#include "python/src/live_layers.h"
#include "python/src/open_model.h"

namespace attnscope::python {
namespace {

/// Computes the items of a run. With the last copy, the context manager `items` ends.
class ItemsInPyTorch {
 public:
  /// With the GIL. `items` was entered. `stacks`: the names of the model's stacks.
  ItemsInPyTorch(nb::object items, std::vector<std::string> stacks)
      : stacks_(std::move(stacks)), items_(items.release().ptr(), [](PyObject* held) {
          const nb::gil_scoped_acquire lock;
          const nb::object last = nb::steal(held);
          try {
            last.attr("__exit__")(nb::none(), nb::none(), nb::none());
          } catch (nb::python_error& error) {
            error.discard_as_unraisable("attnscope");
          }
        }) {}

  std::shared_ptr<const void> held() const { return items_; }

  std::vector<Outcome> operator()(const WorkItem& item, const std::stop_token& stop) const {
    try {
      return Elsewhere(items_.get(), stacks_)(item, stop);
    } catch (const nb::python_error& error) {
      const nb::gil_scoped_acquire lock;
      throw_as_error(error);
    }
  }

 private:
  std::vector<std::string> stacks_;
  std::shared_ptr<PyObject> items_;
};

/// Opens a model by a Python function, which takes the command's name and the texts of the
/// parameters. It returns an open model, and what computes items: a context manager that is
/// entered, or None.
OpenLive opener(nb::handle open_live) {
  return [open_live](const Command& command, const Arguments& arguments) -> RunInPyTorch {
    const nb::gil_scoped_acquire lock;
    nb::list names;
    for (const Parameter& parameter : command.parameters) {
      if (arguments.given(parameter.name)) names.append(parameter.name);
    }
    const Parameter* dtype = find_parameter(command, "dtype");
    const bool is_given = dtype != nullptr && is_of_device(*dtype);
    try {
      const auto opened = nb::cast<nb::tuple>(
          open_live(command.name, names, nb::cast(arguments.texts("models")),
                    nb::arg("device") = arguments.text("device"),
                    nb::arg("dtype") = is_given ? arguments.text("dtype") : "",
                    nb::arg("layout") = arguments.text("layout"),
                    nb::arg("threads") = arguments.integer("threads").value_or(0)));
      RunInPyTorch run{
          .models = nb::cast<const OpenModel&>(opened[0]).models, .compute = {}, .held = {}};
      std::vector<std::string> stacks;
      for (const Model& model : run.models) stacks.push_back(model.name());
      if (opened[1].is_none()) return run;
      const nb::object items = opened[1];
      const ItemsInPyTorch entered(items, std::move(stacks));
      run.held = entered.held();
      if (nb::cast<bool>(items.attr("computes_items"))) {
        run.compute = entered;
      } else {
        run_layers_in_python(run.models, items.attr("layers"), PythonExceptions::as_errors);
      }
      return run;
    } catch (const nb::python_error& error) {
      throw_as_error(error);
    }
  };
}

}  // namespace

void bind_program(nb::module_& module) {
  module.def(
      "run_command_line",
      [](std::vector<std::string> words, const nb::object& open_live) {
        const OpenLive open = opener(open_live);
        const nb::gil_scoped_release without_interpreter;
        std::vector<char*> texts;
        for (std::string& word : words) texts.push_back(word.data());
        texts.push_back(nullptr);
        return run_command_line(static_cast<int>(words.size()), texts.data(), open);
      },
      nb::arg("words"), nb::arg("open_live"),
      nb::sig("def run_command_line(words: collections.abc.Sequence[str], open_live: "
              "collections.abc.Callable[..., tuple[OpenModel, typing.Any]]) -> int"),
      "Run the program with these arguments. Return its exit code. `open_live`: opens the model of "
      "a command with a device.");
}

}  // namespace attnscope::python
