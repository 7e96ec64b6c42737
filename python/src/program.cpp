// The command line, for the program that a wheel installs.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "attnscope/cli/app.h"
#include "python/src/bindings.h"

namespace attnscope::python {

void bind_program(nb::module_& module) {
  module.def(
      "run_command_line",
      [](std::vector<std::string> words) {
        const nb::gil_scoped_release without_interpreter;
        std::vector<char*> texts;
        for (std::string& word : words) texts.push_back(word.data());
        texts.push_back(nullptr);
        return run_command_line(static_cast<int>(words.size()), texts.data());
      },
      nb::arg("words"), "Run the program with these arguments. Return its exit code.");
}

}  // namespace attnscope::python
