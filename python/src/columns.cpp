#include "python/src/columns.h"

#include <algorithm>
#include <map>
#include <span>
#include <type_traits>

#include "attnscope/rows/json.h"

namespace attnscope::python {
namespace {

/// A null pointer represents a row that lacks the field.
using Values = std::vector<const Value*>;

bool is_null(const Value* value) { return value == nullptr || value->is_null(); }

template <class T>
bool all_are(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](const Value* value) {
    return is_null(value) || value->get<T>() != nullptr;
  });
}

/// A bitmap in Arrow's bit order: the lowest bit of each byte comes first.
class Bits {
 public:
  explicit Bits(std::size_t count) : bytes_((count + 7) / 8) {}
  void set(std::size_t index) {
    bytes_[index / 8] = static_cast<std::uint8_t>(bytes_[index / 8] | 1u << index % 8);
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

/// Returns a column of this type with its validity bitmap but without values.
Column empty_column(ColumnType type, const Values& values) {
  Column column{.type = type, .length = std::ssize(values)};
  column.nulls = std::count_if(values.begin(), values.end(), is_null);
  if (column.nulls == 0) return column;
  Bits valid(values.size());
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (!is_null(values[index])) valid.set(index);
  }
  column.valid = valid.take();
  return column;
}

Column boolean_column(const Values& values) {
  Column column = empty_column(ColumnType::boolean, values);
  Bits bits(values.size());
  for (std::size_t index = 0; index < values.size(); ++index) {
    if (!is_null(values[index]) && *values[index]->get<bool>()) bits.set(index);
  }
  column.bits = bits.take();
  return column;
}

Column integer_column(const Values& values) {
  Column column = empty_column(ColumnType::int64, values);
  for (const Value* value : values) {
    column.integers.push_back(is_null(value) ? 0 : *value->get<std::int64_t>());
  }
  return column;
}

/// Makes a column of doubles. Integers are converted.
Column double_column(const Values& values) {
  Column column = empty_column(ColumnType::float64, values);
  for (const Value* value : values) {
    const double* number = is_null(value) ? nullptr : value->get<double>();
    column.doubles.push_back(is_null(value) ? 0
                             : number != nullptr
                                 ? *number
                                 : static_cast<double>(*value->get<std::int64_t>()));
  }
  return column;
}

template <class TextOf>
Column text_column(const Values& values, TextOf text_of) {
  Column column = empty_column(ColumnType::text, values);
  column.offsets.push_back(0);
  for (const Value* value : values) {
    if (!is_null(value)) column.bytes += text_of(*value);
    column.offsets.push_back(std::ssize(column.bytes));
  }
  return column;
}

Column column_of(const Values& values);

Column record_column(const Values& values) {
  std::vector<std::string> names;
  std::map<std::string, Values> fields;
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (is_null(values[row])) continue;
    for (const auto& [name, value] : values[row]->get<Record>()->fields()) {
      Values& field = fields[name];
      if (field.empty()) {
        names.push_back(name);
        field.resize(values.size());
      }
      field[row] = &value;
    }
  }
  Column column = empty_column(ColumnType::record, values);
  for (const std::string& name : names) column.children.emplace_back(name, column_of(fields[name]));
  return column;
}

constexpr const char* kItem = "item";  // Arrow's name for the child of a list

/// Makes a column from values of type Value::List.
Column list_column(const Values& values) {
  Column column = empty_column(ColumnType::list, values);
  Values items;
  column.offsets.push_back(0);
  for (const Value* value : values) {
    if (!is_null(value)) {
      for (const Value& item : *value->get<Value::List>()) items.push_back(&item);
    }
    column.offsets.push_back(std::ssize(items));
  }
  column.children.emplace_back(kItem, column_of(items));
  return column;
}

/// Makes nested lists from arrays of type T, with one level of lists per axis.
template <class T>
Column numbers_column(const Values& values, std::size_t axes) {
  Column numbers;
  if constexpr (std::is_same_v<T, double>) numbers.type = ColumnType::float64;
  if constexpr (std::is_same_v<T, float>) numbers.type = ColumnType::float32;
  if constexpr (std::is_same_v<T, std::int64_t>) numbers.type = ColumnType::int64;
  std::vector<T>& all = [&]() -> std::vector<T>& {
    if constexpr (std::is_same_v<T, double>) return numbers.doubles;
    if constexpr (std::is_same_v<T, float>) return numbers.floats;
    if constexpr (std::is_same_v<T, std::int64_t>) return numbers.integers;
  }();
  // One list column per axis, the innermost last. Only the outermost lists can be null.
  std::vector<Column> lists(axes);
  for (Column& list : lists) list = {.type = ColumnType::list, .offsets = {0}};
  lists.front() = empty_column(ColumnType::list, values);
  lists.front().offsets = {0};
  for (const Value* value : values) {
    const Array* array = is_null(value) ? nullptr : value->get<Array>();
    std::int64_t lists_here = 1;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::int64_t size = array == nullptr ? 0 : array->shape[axis];
      for (std::int64_t list = 0; list < lists_here; ++list) {
        lists[axis].offsets.push_back(lists[axis].offsets.back() + size);
      }
      lists_here *= size;
    }
    if (array == nullptr) continue;
    const auto& own = std::get<std::vector<T>>(array->data);
    all.insert(all.end(), own.begin(), own.end());
  }
  numbers.length = std::ssize(all);
  Column column = std::move(numbers);
  for (std::size_t axis = axes; axis-- > 0;) {
    Column outer = std::move(lists[axis]);
    outer.length = std::ssize(outer.offsets) - 1;
    outer.children.emplace_back(kItem, std::move(column));
    column = std::move(outer);
  }
  return column;
}

/// Returns the first array if all have the same type and number of axes, else null.
const Array* common_array(const Values& values) {
  const Array* first = nullptr;
  for (const Value* value : values) {
    const Array* array = is_null(value) ? nullptr : value->get<Array>();
    if (array == nullptr) continue;
    if (first == nullptr) first = array;
    if (array->data.index() != first->data.index() || array->shape.size() != first->shape.size()) {
      return nullptr;
    }
  }
  return first;
}

Column json_column(const Values& values) {
  return text_column(values, [](const Value& value) { return json_text(value); });
}

Column column_of(const Values& values) {
  if (std::all_of(values.begin(), values.end(), is_null)) {
    Column column = empty_column(ColumnType::null, values);
    column.valid.clear();  // a null column has no buffers
    return column;
  }
  if (all_are<bool>(values)) return boolean_column(values);
  if (all_are<std::int64_t>(values)) return integer_column(values);
  if (all_are<std::string>(values)) {
    return text_column(values, [](const Value& value) { return *value.get<std::string>(); });
  }
  if (all_are<Record>(values)) return record_column(values);
  if (all_are<Value::List>(values)) return list_column(values);
  const bool numbers = std::all_of(values.begin(), values.end(), [](const Value* value) {
    return is_null(value) || value->get<double>() != nullptr ||
           value->get<std::int64_t>() != nullptr;
  });
  if (numbers) return double_column(values);
  const Array* like = all_are<Array>(values) ? common_array(values) : nullptr;
  if (like == nullptr) return json_column(values);
  return std::visit(
      [&](const auto& data) {
        using T = typename std::decay_t<decltype(data)>::value_type;
        return numbers_column<T>(values, like->shape.size());
      },
      like->data);
}

/// The columns of one field: one column, or several if its values are records.
struct FieldColumns {
  std::vector<std::string> suffixes;  // in order of appearance
  std::map<std::string, Values> values;

  void add(const std::string& suffix, std::size_t row, std::size_t rows, const Value& value) {
    if (const Record* record = value.get<Record>()) {
      for (const auto& [name, inner] : record->fields()) add(suffix + "_" + name, row, rows, inner);
      return;
    }
    Values& own = values[suffix];
    if (own.empty()) {
      suffixes.push_back(suffix);
      own.resize(rows);
    }
    own[row] = &value;
  }
};

}  // namespace

std::vector<std::pair<std::string, Column>> columns_of(const Report& report) {
  std::vector<std::string> names;
  std::map<std::string, FieldColumns> fields;
  for (std::size_t row = 0; row < report.rows.size(); ++row) {
    for (const auto& [name, value] : report.rows[row].fields()) {
      const auto [found, fresh] = fields.try_emplace(name);
      if (fresh) names.push_back(name);
      found->second.add("", row, report.rows.size(), value);
    }
  }
  std::vector<std::pair<std::string, Column>> columns;
  for (const std::string& name : names) {
    const FieldColumns& field = fields[name];
    for (const std::string& suffix : field.suffixes) {
      Column column = column_of(field.values.at(suffix));
      // A null in a field that is a record in other rows gets no column of its own.
      if (column.type == ColumnType::null && suffix.empty() && field.suffixes.size() > 1) continue;
      columns.emplace_back(name + suffix, std::move(column));
    }
  }
  return columns;
}

}  // namespace attnscope::python
