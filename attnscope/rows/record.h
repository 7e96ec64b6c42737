// Named values in a fixed order: a row of results, or the parameters of a run. Decouples analyses,
// which create them, from outputs, which print them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "attnscope/base/matrix_view.h"

namespace attnscope {

// Numbers of one type with a shape, in one buffer: singular values, counts of a histogram, the
// attention map of a head.

/// Row-major: the last index runs fastest. `shape` has at least one size; `data` has as many
/// numbers as the product of the sizes. Numbers that are not finite are printed as null.
struct Array {
  std::vector<std::int64_t> shape;
  std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<float>> data;
};

/// The part of an array with its first indices fixed; `shape` has the sizes of the others. Valid as
/// long as the array.
template <class T>
struct ArrayPart {
  std::span<const std::int64_t> shape;
  std::span<const T> values;

  bool is_vector() const { return shape.size() == 1; }

  /// For two or more dimensions: the part at `index` of the first dimension.
  ArrayPart operator[](std::int64_t index) const {
    const std::size_t each = values.size() / static_cast<std::size_t>(shape.front());
    return {shape.subspan(1), values.subspan(static_cast<std::size_t>(index) * each, each)};
  }
};

/// Calls visit(ArrayPart<T>) with the whole array in its number type.
template <class Visit>
decltype(auto) visit_array(const Array& array, Visit&& visit) {
  return std::visit(
      [&](const auto& values) {
        using T = typename std::decay_t<decltype(values)>::value_type;
        return visit(ArrayPart<T>{array.shape, values});
      },
      array.data);
}

class Value;

/// Named values in insertion order.
class Record {
 public:
  Record() = default;
  Record(std::initializer_list<std::pair<std::string, Value>> fields);

  Record& add(std::string name, Value value);
  /// Null if there is no such field.
  const Value* find(std::string_view name) const;
  const std::vector<std::pair<std::string, Value>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, Value>> fields_;
};

/// Null, or one of the types that JSON and CSV can represent. Numbers that are not finite become
/// null. Use an Array for many numbers, and a List for values that are not numbers or have mixed
/// types.
class Value {
 public:
  using List = std::vector<Value>;
  using Data =
      std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, List, Record>;

  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool value) : data_(value) {}
  Value(int value) : data_(static_cast<std::int64_t>(value)) {}
  Value(std::int64_t value) : data_(value) {}
  Value(std::uint64_t value) : data_(static_cast<std::int64_t>(value)) {}
  Value(double value);
  Value(std::string value) : data_(std::move(value)) {}
  Value(std::string_view value) : data_(std::string(value)) {}
  Value(const char* value) : data_(std::string(value)) {}
  Value(Array array) : data_(std::move(array)) {}
  Value(std::vector<double> values) : Value(Array{{std::ssize(values)}, std::move(values)}) {}
  Value(std::vector<std::int64_t> values) : Value(Array{{std::ssize(values)}, std::move(values)}) {}
  Value(List values) : data_(std::move(values)) {}
  Value(Record record) : data_(std::move(record)) {}
  template <class T>
  Value(const std::optional<T>& value) {
    if (value) *this = Value(*value);
  }

  const Data& data() const { return data_; }
  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  /// The value as T, or null if it has another type.
  template <class T>
  const T* get() const {
    return std::get_if<T>(&data_);
  }

 private:
  Data data_;
};

/// Throws Error(format) naming the field. Rows may come from a store, which can contain anything.
[[noreturn]] void refuse_field(std::string_view name);

/// The value as T; calls refuse_field(name) if it has another type.
template <class T>
const T& expect(const Value& value, std::string_view name) {
  const T* held = value.get<T>();
  if (held == nullptr) refuse_field(name);
  return *held;
}

/// The field of the record as T; calls refuse_field(name) if it is absent or has another type.
template <class T>
const T& expect(const Record& record, std::string_view name) {
  const Value* value = record.find(name);
  if (value == nullptr) refuse_field(name);
  return expect<T>(*value, name);
}

/// The numbers of a field that is a one-dimensional array of T.
template <class T>
const std::vector<T>& expect_vector(const Record& record, std::string_view name) {
  const Array& array = expect<Array>(record, name);
  const auto* values = std::get_if<std::vector<T>>(&array.data);
  if (values == nullptr || array.shape.size() != 1) refuse_field(name);
  return *values;
}

/// The numbers of a field that is a two-dimensional array of T. Valid as long as the record.
template <class T>
MatrixView<const T> expect_matrix(const Record& record, std::string_view name) {
  const Array& array = expect<Array>(record, name);
  const auto* values = std::get_if<std::vector<T>>(&array.data);
  if (values == nullptr || array.shape.size() != 2) refuse_field(name);
  return {values->data(), array.shape[0], array.shape[1], array.shape[1]};
}

}  // namespace attnscope
