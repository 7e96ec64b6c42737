#include "python/src/elsewhere.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <stdexcept>

#include "attnscope/base/error.h"
#include "attnscope/engine/work_queue.h"

namespace attnscope::python {
namespace {

std::string text_of(nb::handle value, const char* name) {
  const nb::object found = nb::getattr(value, name, nb::none());
  return found.is_none() ? std::string() : nb::cast<std::string>(nb::str(found));
}

}  // namespace

void throw_if_error(const nb::python_error& error, std::initializer_list<ErrorKind> kinds) {
  const nb::handle value = error.value();
  const auto* kind =
      std::find_if(kErrorKinds.begin(), kErrorKinds.end(),
                   [name = text_of(value, "kind")](const auto& one) { return one.name == name; });
  if (kind == kErrorKinds.end()) return;
  if (std::find(kinds.begin(), kinds.end(), kind->kind) == kinds.end()) return;
  ErrorParts parts{.file = text_of(value, "file"),
                   .tensor = text_of(value, "tensor"),
                   .parameter = text_of(value, "parameter"),
                   .problem = verbatim(text_of(value, "problem")),
                   .hint = verbatim(text_of(value, "hint"))};
  if (parts.problem.empty()) parts = {.problem = verbatim(nb::cast<std::string>(nb::str(value)))};
  throw Error(kind->kind, std::move(parts));
}

void throw_as_error(const nb::python_error& error) {
  using enum ErrorKind;
  throw_if_error(error, {usage, io, format, unsupported, numerical});
  throw std::runtime_error(text_of_exception(error));
}

std::string text_of_exception(const nb::python_error& error) {
  const std::string message = nb::cast<std::string>(nb::str(error.value()));
  return nb::cast<std::string>(nb::type_name(error.value().type())) + ": " +
         message.substr(0, message.find('\n'));
}

std::vector<Outcome> Elsewhere::operator()(const WorkItem& item,
                                           const std::stop_token& stop) const {
  const nb::gil_scoped_acquire lock;
  const auto stopped = nb::cpp_function([stop] { return stop.stop_requested(); });
  nb::object text;
  try {
    text = nb::handle(call_)(models_[item.model], work_item_text(item), stopped);
  } catch (const nb::python_error& error) {
    // A report leaves out the sections that a model does not support.
    throw_if_error(error, {ErrorKind::unsupported, ErrorKind::numerical});
    throw;
  }
  if (text.is_none()) throw Stopped();
  return parse_outcomes(nb::cast<std::string>(text), "outcomes of another process");
}

}  // namespace attnscope::python
