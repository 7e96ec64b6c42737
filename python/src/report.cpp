// Bindings of reports: texts, rows as dicts, columns as arrays, and export to Arrow.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <mutex>
#include <sstream>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/rows/json.h"
#include "attnscope/rows/table/cells.h"
#include "attnscope/rows/writers.h"
#include "python/src/arrow.h"
#include "python/src/bindings.h"
#include "python/src/report_state.h"
#include "python/src/table_report.h"

namespace attnscope::python {
namespace {

/// Returns a read-only array over memory that `owner` keeps alive.
template <class T>
nb::object array_of(const T* data, const std::vector<std::int64_t>& shape, nb::handle owner) {
  const std::vector<std::size_t> sizes(shape.begin(), shape.end());
  return nb::cast(nb::ndarray<nb::numpy, const T>(data, sizes.size(), sizes.data(), owner));
}

template <class T>
nb::object vector_array(const std::vector<T>& values, nb::handle owner) {
  return array_of(values.data(), {std::ssize(values)}, owner);
}

nb::object to_python(const Value& value, nb::handle owner);

nb::dict to_python(const Record& record, nb::handle owner) {
  nb::dict out;
  for (const auto& [name, value] : record.fields()) out[name.c_str()] = to_python(value, owner);
  return out;
}

nb::object to_python(const Value& value, nb::handle owner) {
  return std::visit(
      [&](const auto& held) -> nb::object {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nb::none();
        } else if constexpr (std::is_same_v<Held, Record>) {
          return to_python(held, owner);
        } else if constexpr (std::is_same_v<Held, Value::List>) {
          nb::list list;
          for (const Value& entry : held) list.append(to_python(entry, owner));
          return list;
        } else if constexpr (std::is_same_v<Held, Array>) {
          return std::visit(
              [&](const auto& numbers) { return array_of(numbers.data(), held.shape, owner); },
              held.data);
        } else {
          return nb::cast(held);
        }
      },
      value.data());
}

nb::list records_list(const std::vector<Record>& records, nb::handle owner) {
  nb::list out;
  for (const Record& record : records) out.append(to_python(record, owner));
  return out;
}

const char* type_name(ColumnType type) {
  switch (type) {
    case ColumnType::null: return "null";
    case ColumnType::boolean: return "boolean";
    case ColumnType::int64:
    case ColumnType::float32:
    case ColumnType::float64: return "number";
    case ColumnType::text: return "text";
    case ColumnType::list: return "list";
    case ColumnType::record: return "record";
  }
  return "null";
}

nb::object buffer_of(const Column& column, nb::handle owner) {
  switch (column.type) {
    case ColumnType::boolean: return vector_array(column.bits, owner);
    case ColumnType::int64: return vector_array(column.integers, owner);
    case ColumnType::float32: return vector_array(column.floats, owner);
    case ColumnType::float64: return vector_array(column.doubles, owner);
    case ColumnType::text: return nb::bytes(column.bytes.data(), column.bytes.size());
    default: return nb::none();
  }
}

/// Returns the buffers of a column as arrays. attnscope/_columns.py combines them into one array.
nb::dict column_dict(const Column& column, nb::handle owner) {
  nb::dict out;
  out["type"] = type_name(column.type);
  out["length"] = column.length;
  out["valid"] = column.valid.empty() ? nb::object(nb::none()) : vector_array(column.valid, owner);
  out["values"] = buffer_of(column, owner);
  out["offsets"] =
      column.offsets.empty() ? nb::object(nb::none()) : vector_array(column.offsets, owner);
  nb::dict children;
  for (const auto& [name, child] : column.children) {
    children[name.c_str()] = column_dict(child, owner);
  }
  out["children"] = children;
  return out;
}

std::string report_text(const TableReport& self, const std::string& format, int width) {
  for (const Format& known : formats()) {
    if (known.name != format) continue;
    std::ostringstream out;
    send(self.report(), *known.make({.width = width}, out));
    return std::move(out).str();
  }
  throw Error(ErrorKind::usage, format, "unknown format");
}

nb::list skipped_list(const TableReport& self) {
  nb::list out;
  for (const Skipped& skipped : self.report().skipped) {
    out.append(to_python(skipped_record(skipped), nb::handle()));
  }
  return out;
}

/// Returns everything that makes an equal report, as plain Python objects.
nb::dict state_of(nb::handle self) {
  const auto& table = nb::cast<const TableReport&>(self);
  const Report& report = table.report();
  nb::dict out;
  out["command"] = report.command;
  out["models"] = records_list(report.models, self);
  out["parameters"] = to_python(report.parameters, self);
  out["rows"] = records_list(report.rows, self);
  out["skipped"] = skipped_list(table);
  out["notes"] = report.notes;
  out["columns"] = table.only();
  return out;
}

std::unique_ptr<TableReport> from_state(const nb::dict& state) {
  auto report = std::make_shared<const Report>(report_of_state(state));
  std::optional<TableReport::Names> only;
  if (!state.contains("columns") || !nb::try_cast(state["columns"], only)) {
    throw nb::type_error("damaged table: expected names of columns");
  }
  return std::make_unique<TableReport>(std::move(report), std::move(only));
}

const Column& column_at(const TableReport& self, std::size_t index) {
  const Columns& columns = *self.columns();
  if (index >= columns.size()) throw nb::index_error();
  return columns[index].second;
}

}  // namespace

void bind_report(nb::module_& module) {
  nb::class_<TableReport>(module, "Report", "The result of a command.")
      .def_prop_ro("command", [](const TableReport& self) { return self.report().command; })
      .def_prop_ro("kind",
                   [](const TableReport& self) {
                     const RowKind* kind = kind_of(self.report());
                     return kind == nullptr ? std::string() : std::string(kind->name);
                   })
      .def_prop_ro("only", &TableReport::only, "Names of the selected columns. None: all.")
      .def("state", &state_of, nb::sig("def state(self) -> dict[str, typing.Any]"))
      .def_static("from_state", &from_state, nb::arg("state"),
                  nb::sig("def from_state(state: dict[str, typing.Any]) -> Report"))
      .def(
          "with_rows",
          [](const TableReport& self, const std::vector<std::size_t>& indexes) {
            return self.with_rows(indexes);
          },
          nb::arg("indexes"))
      .def(
          "with_columns",
          [](const TableReport& self, std::optional<TableReport::Names> names) {
            return std::make_unique<TableReport>(self.shared(), std::move(names));
          },
          nb::arg("names").none())
      .def_prop_ro("notes",
                   [](const TableReport& self) {
                     std::vector<std::string> notes;
                     for (const std::string& note : self.report().notes) {
                       notes.push_back(spell_parameters(note, keyword));
                     }
                     return notes;
                   })
      .def_prop_ro(
          "parameters",
          [](nb::handle self) {
            return to_python(nb::cast<const TableReport&>(self).report().parameters, self);
          },
          nb::sig("def parameters(self) -> dict[str, typing.Any]"))
      .def_prop_ro(
          "models",
          [](nb::handle self) {
            return records_list(nb::cast<const TableReport&>(self).report().models, self);
          },
          nb::sig("def models(self) -> list[dict[str, typing.Any]]"))
      .def_prop_ro("skipped", &skipped_list,
                   nb::sig("def skipped(self) -> list[dict[str, typing.Any]]"))
      .def_prop_ro("model_titles",
                   [](const TableReport& self) {
                     std::vector<std::string> titles;
                     for (const Record& model : self.report().models) {
                       titles.push_back(model_title(model));
                     }
                     return titles;
                   })
      .def("__len__", [](const TableReport& self) { return self.report().rows.size(); })
      .def(
          "row",
          [](nb::handle self, std::size_t index) {
            const auto& rows = nb::cast<const TableReport&>(self).report().rows;
            if (index >= rows.size()) throw nb::index_error();
            return to_python(rows[index], self);
          },
          nb::arg("index"), nb::sig("def row(self, index: int) -> dict[str, typing.Any]"))
      .def("text", &report_text, nb::arg("format"), nb::arg("width") = 100)
      .def("column_names",
           [](const TableReport& self) {
             std::vector<std::string> names;
             for (const auto& [name, column] : *self.columns()) names.push_back(name);
             return names;
           })
      .def(
          "column",
          [](nb::handle self, std::size_t index) {
            return column_dict(column_at(nb::cast<const TableReport&>(self), index), self);
          },
          nb::arg("index"), nb::sig("def column(self, index: int) -> dict[str, typing.Any]"))
      .def(
          "arrow_schema", [](const TableReport& self) { return arrow_schema(*self.columns()); },
          nb::sig("def arrow_schema(self) -> object"))
      .def(
          "arrow_stream", [](const TableReport& self) { return arrow_stream(self.columns()); },
          nb::sig("def arrow_stream(self) -> object"));
}

}  // namespace attnscope::python
