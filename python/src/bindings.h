// Declarations shared by the files of the module. Each file binds one part of the library.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace attnscope::python {

namespace nb = nanobind;

/// Returns the Python spelling of a command's parameter: its name.
inline std::string keyword(std::string_view name) { return std::string(name); }

void bind_errors(nb::module_& module);
void bind_descriptions(nb::module_& module);
void bind_report(nb::module_& module);
void bind_models(nb::module_& module);
void bind_run(nb::module_& module);
void bind_arrays(nb::module_& module);
void bind_charts(nb::module_& module);
void bind_live(nb::module_& module);
void bind_live_model(nb::module_& module);
void bind_live_attention(nb::module_& module);
void bind_live_layers(nb::module_& module);
void bind_program(nb::module_& module);
void bind_server(nb::module_& module);

}  // namespace attnscope::python
