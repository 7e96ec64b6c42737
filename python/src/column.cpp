#include "python/src/column.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "attnscope/rows/json.h"

namespace attnscope::python {
namespace {

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

/// Declared fields come first, so that tables with and without nulls have columns of one type.
Column record_column(const Values& values, const Declared& declared) {
  std::vector<std::string> names;
  std::map<std::string, Values> fields;
  if (declared.field != nullptr) {
    for (const Field& field : declared.field->fields) {
      if (field.optional || !field.with.empty()) continue;
      names.emplace_back(field.name);
      fields[names.back()].resize(values.size());
    }
  }
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (is_null(values[row])) continue;
    for (const auto& [name, value] : values[row]->get<Record>()->fields()) {
      const auto [found, fresh] = fields.try_emplace(name);
      if (fresh) {
        names.push_back(name);
        found->second.resize(values.size());
      }
      found->second[row] = &value;
    }
  }
  Column column = empty_column(ColumnType::record, values);
  for (const std::string& name : names) {
    column.children.emplace_back(name, column_of(fields[name], inner(declared, name)));
  }
  return column;
}

constexpr const char* kItem = "item";  // Arrow's name for the child of a list

/// Makes a column from values of type Value::List.
Column list_column(const Values& values, const Declared& declared) {
  Column column = empty_column(ColumnType::list, values);
  Values items;
  column.offsets.push_back(0);
  for (const Value* value : values) {
    if (!is_null(value)) {
      for (const Value& item : *value->get<Value::List>()) items.push_back(&item);
    }
    column.offsets.push_back(std::ssize(items));
  }
  const Declared item{.field = declared.field, .axes = std::max(0, declared.axes - 1)};
  column.children.emplace_back(kItem, column_of(items, item));
  return column;
}

/// The value as an array; null for a null, and for the empty list that a store returns instead of
/// an empty array.
const Array* array_in(const Value* value) { return is_null(value) ? nullptr : value->get<Array>(); }

/// Makes nested lists of numbers of type T, with one level of lists per axis.
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
    const Array* array = array_in(value);
    std::int64_t lists_here = 1;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::int64_t size = array == nullptr ? 0 : array->shape[axis];
      for (std::int64_t list = 0; list < lists_here; ++list) {
        lists[axis].offsets.push_back(lists[axis].offsets.back() + size);
      }
      lists_here *= size;
    }
    if (array == nullptr) continue;
    std::visit(
        [&](const auto& own) {
          for (const auto number : own) all.push_back(static_cast<T>(number));
        },
        array->data);
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

/// Returns the first array if all values are arrays of the same type and number of axes, else null.
const Array* common_array(const Values& values) {
  const Array* first = nullptr;
  for (const Value* value : values) {
    if (is_null(value)) continue;
    const Array* array = value->get<Array>();
    if (array == nullptr) {
      const auto* list = value->get<Value::List>();
      if (list == nullptr || !list->empty()) return nullptr;
      continue;
    }
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

/// Makes a column of nulls with the declared type.
Column null_column(const Values& values, const Declared& declared) {
  if (declared.axes > 0) return list_column(values, declared);
  if (declared.field != nullptr) {
    switch (declared.field->type) {
      case FieldType::text: return json_column(values);
      case FieldType::integer: return integer_column(values);
      case FieldType::number: return double_column(values);
      case FieldType::flag: return boolean_column(values);
      case FieldType::record: return record_column(values, declared);
    }
  }
  Column column = empty_column(ColumnType::null, values);
  column.valid.clear();  // a null column has no buffers
  return column;
}

}  // namespace

Declared declared_as(const Field* field) {
  if (field == nullptr) return {};
  const bool is_list = field->form == FieldForm::list;
  return {.field = field, .axes = field->form == FieldForm::matrix ? 2 : is_list ? 1 : 0};
}

Declared inner(const Declared& outer, std::string_view name) {
  if (outer.field == nullptr) return {};
  for (const Field& field : outer.field->fields) {
    if (field.name == name) return declared_as(&field);
  }
  return outer.field->type == FieldType::record ? Declared{} : Declared{.field = outer.field};
}

Column column_of(const Values& values, const Declared& declared) {
  if (std::all_of(values.begin(), values.end(), is_null)) return null_column(values, declared);
  if (all_are<bool>(values)) return boolean_column(values);
  if (all_are<std::int64_t>(values)) {
    return declared.is(FieldType::number) ? double_column(values) : integer_column(values);
  }
  if (all_are<std::string>(values)) {
    return text_column(values, [](const Value& value) { return *value.get<std::string>(); });
  }
  if (all_are<Record>(values)) return record_column(values, declared);
  if (all_are<Value::List>(values)) return list_column(values, declared);
  const bool numbers = std::all_of(values.begin(), values.end(), [](const Value* value) {
    return is_null(value) || value->get<double>() != nullptr ||
           value->get<std::int64_t>() != nullptr;
  });
  if (numbers) return double_column(values);
  const Array* like = common_array(values);
  if (like == nullptr) return json_column(values);
  const bool widens = declared.field != nullptr && declared.field->type == FieldType::number &&
                      std::holds_alternative<std::vector<std::int64_t>>(like->data);
  if (widens) return numbers_column<double>(values, like->shape.size());
  return std::visit(
      [&](const auto& data) {
        using T = typename std::decay_t<decltype(data)>::value_type;
        return numbers_column<T>(values, like->shape.size());
      },
      like->data);
}

}  // namespace attnscope::python
