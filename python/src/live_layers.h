// Layers of open models that a Python object runs.
#pragma once

#include <vector>

#include "attnscope/model/model.h"
#include "python/src/bindings.h"

namespace attnscope::python {

/// What an exception of Python becomes: itself, or what a command line reports.
enum class PythonExceptions { pass_on, as_errors };

/// Sets what runs the layers of a model's stacks. `layers`: a Python object, which must outlive the
/// models' passes. Its methods are described in _core.pyi.
void run_layers_in_python(std::vector<Model>& stacks, const nb::object& layers,
                          PythonExceptions exceptions);

}  // namespace attnscope::python
