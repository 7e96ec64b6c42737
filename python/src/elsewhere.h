// Items of a run that a Python object computes: an executor, or a live model.
#pragma once

#include <nanobind/nanobind.h>

#include <initializer_list>
#include <stop_token>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/engine/outcome.h"
#include "attnscope/engine/work_item.h"
#include "python/src/bindings.h"

namespace attnscope::python {

/// Computes items through a Python object. Its call takes the name of a model, the text of an item
/// and a function that returns whether to stop. It waits, and returns the text of the outcomes, or
/// None if it was stopped.
class Elsewhere {
 public:
  /// `call`: kept alive by the caller of the run. `models`: the names of the run's models, as in
  /// arguments.
  Elsewhere(PyObject* call, std::vector<std::string> models)
      : call_(call), models_(std::move(models)) {}

  std::vector<Outcome> operator()(const WorkItem& item, const std::stop_token& stop) const;

 private:
  PyObject* call_;
  std::vector<std::string> models_;
};

/// Throws an exception of the package as Error, if it is of one of these kinds. Returns for others.
/// With the GIL.
void throw_if_error(const nb::python_error& error, std::initializer_list<ErrorKind> kinds);

/// Throws what a command line reports: an exception of the package as Error, others as
/// std::runtime_error. With the GIL.
[[noreturn]] void throw_as_error(const nb::python_error& error);

/// "RuntimeError: a problem", the first line. With the GIL.
std::string text_of_exception(const nb::python_error& error);

}  // namespace attnscope::python
