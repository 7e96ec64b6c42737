// Translation of library errors to Python exceptions. attnscope/_errors.py makes their classes from
// the table that also defines the exit codes.
#include "attnscope/base/error.h"

#include <nanobind/stl/string.h>

#include "python/src/bindings.h"

namespace attnscope::python {
namespace {

nb::dict parts_dict(const ErrorParts& parts) {
  const auto text = [](const std::string& part) {
    return part.empty() ? nb::object(nb::none()) : nb::object(nb::str(part.c_str(), part.size()));
  };
  nb::dict out;
  out["file"] = text(parts.file);
  out["tensor"] = text(parts.tensor);
  out["parameter"] = text(parts.parameter);
  out["layer"] = parts.layer ? nb::object(nb::int_(*parts.layer)) : nb::object(nb::none());
  out["problem"] = text(spell_parameters(parts.problem, keyword));
  out["hint"] = text(spell_parameters(parts.hint, keyword));
  return out;
}

void raise(const Error& error) {
  const std::string name(kErrorKinds[static_cast<std::size_t>(error.kind())].name);
  const nb::object exception =
      nb::module_::import_("attnscope._errors")
          .attr("error_of")(name, std::string(error.what()), parts_dict(error.parts()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

nb::list error_kinds() {
  nb::list kinds;
  for (const ErrorKindInfo& kind : kErrorKinds) {
    kinds.append(nb::make_tuple(std::string(kind.name), kind.exit_code));
  }
  return kinds;
}

}  // namespace

void bind_errors(nb::module_& module) {
  module.def("error_kinds", &error_kinds, nb::sig("def error_kinds() -> list[tuple[str, int]]"),
             "Return names and command-line exit codes.");
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      try {
        raise(error);
      } catch (nb::python_error& failed) {  // e.g. a failed import: report that error instead
        failed.restore();
      }
    }
  });
}

}  // namespace attnscope::python
