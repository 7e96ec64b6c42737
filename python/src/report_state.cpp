#include "python/src/report_state.h"

#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/src/columns.h"

namespace attnscope::python {
namespace {

namespace nb = nanobind;

constexpr int kMaxNesting = 64;

using Numbers = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

std::string text_of(nb::handle object) {
  if (!PyUnicode_Check(object.ptr())) throw nb::type_error("damaged table: expected a str");
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text == nullptr) throw nb::python_error();  // not UTF-8
  return {text, static_cast<std::size_t>(size)};
}

std::int64_t integer_of(nb::handle object) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow != 0) throw nb::value_error("damaged table: number out of range");
  return number;
}

template <class T>
std::vector<T> copied(const Numbers& numbers) {
  const T* data = static_cast<const T*>(numbers.data());
  return numbers.size() == 0 ? std::vector<T>() : std::vector<T>(data, data + numbers.size());
}

Array array_of_numbers(nb::handle object) {
  Numbers numbers;
  if (!nb::try_cast(object, numbers) || numbers.ndim() == 0) {
    throw nb::type_error("damaged table: a value of a row has an unexpected type");
  }
  Array array;
  for (std::size_t axis = 0; axis < numbers.ndim(); ++axis) {
    array.shape.push_back(static_cast<std::int64_t>(numbers.shape(axis)));
  }
  // Empty lists need memory for their ends, so their number must be limited.
  if (numbers.size() == 0 && array.shape.size() > 1 && array.shape.front() != 0) {
    throw nb::value_error("damaged table: an array has empty rows");
  }
  if (numbers.dtype() == nb::dtype<double>()) {
    array.data = copied<double>(numbers);
  } else if (numbers.dtype() == nb::dtype<std::int64_t>()) {
    array.data = copied<std::int64_t>(numbers);
  } else if (numbers.dtype() == nb::dtype<float>()) {
    array.data = copied<float>(numbers);
  } else {
    throw nb::type_error("damaged table: an array has an unexpected dtype");
  }
  return array;
}

Value value_of(nb::handle object, int nesting);

Record record_of(nb::handle object, int nesting) {
  if (!PyDict_Check(object.ptr())) throw nb::type_error("damaged table: expected a dict");
  Record record;
  for (const auto& [name, value] : nb::borrow<nb::dict>(object)) {
    record.add(text_of(name), value_of(value, nesting + 1));
  }
  return record;
}

Value value_of(nb::handle object, int nesting) {
  if (nesting > kMaxNesting) throw nb::value_error("damaged table: nested too deeply");
  PyObject* pointer = object.ptr();
  if (object.is_none()) return {};
  if (PyBool_Check(pointer)) return pointer == Py_True;
  if (PyLong_Check(pointer)) return integer_of(object);
  if (PyFloat_Check(pointer)) return PyFloat_AsDouble(pointer);
  if (PyUnicode_Check(pointer)) return text_of(object);
  if (PyDict_Check(pointer)) return record_of(object, nesting);
  if (PyList_Check(pointer)) {
    Value::List list;
    for (const nb::handle entry : nb::borrow<nb::list>(object)) {
      list.push_back(value_of(entry, nesting + 1));
    }
    return list;
  }
  return array_of_numbers(object);
}

nb::object part(const nb::dict& state, const char* name) {
  if (!state.contains(name)) throw nb::key_error(name);
  return state[name];
}

nb::list list_of(const nb::dict& state, const char* name) {
  const nb::object list = part(state, name);
  if (!PyList_Check(list.ptr())) throw nb::type_error("damaged table: expected a list");
  return nb::borrow<nb::list>(list);
}

std::optional<std::int64_t> index_in(const Record& record, std::string_view name) {
  const Value* value = record.find(name);
  const auto* index = value == nullptr ? nullptr : value->get<std::int64_t>();
  return index == nullptr ? std::nullopt : std::optional(*index);
}

std::string text_in(const Record& record, std::string_view name) {
  const Value* value = record.find(name);
  const auto* text = value == nullptr ? nullptr : value->get<std::string>();
  return text == nullptr ? "" : *text;
}

}  // namespace

Report report_of_state(const nb::dict& state) {
  Report report;
  report.command = text_of(part(state, "command"));
  report.parameters = record_of(part(state, "parameters"), 0);
  for (const nb::handle model : list_of(state, "models")) {
    report.models.push_back(record_of(model, 0));
  }
  for (const nb::handle row : list_of(state, "rows")) report.rows.push_back(record_of(row, 0));
  for (const nb::handle entry : list_of(state, "skipped")) {
    const Record skipped = record_of(entry, 0);
    report.skipped.push_back({.model = text_in(skipped, "model"),
                              .layer = index_in(skipped, "layer"),
                              .matrix = text_in(skipped, "matrix"),
                              .head = index_in(skipped, "head"),
                              .reason = text_in(skipped, "reason")});
  }
  for (const nb::handle note : list_of(state, "notes")) report.notes.push_back(text_of(note));
  if (kind_of(report) == nullptr) throw nb::value_error("damaged table: unknown command");
  return report;
}

}  // namespace attnscope::python
