// Named values in a fixed order: a row of results, or the parameters of a run. Analyses make them
// and outputs print them, and neither knows the other.
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

// Numbers of one type with a shape, in one buffer: singular values, counts of a histogram, the map
// of a head.

/// Row-major: the last index runs fastest. `shape` holds at least one size, and `data` as many
/// numbers as the sizes' product. What is not finite is null wherever it is printed.
struct Array {
  std::vector<std::int64_t> shape;
  std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<float>> data;
};

/// What an array holds where its first indices are fixed: `shape` are the sizes of the others.
/// Valid as long as the array.
template <class T>
struct ArrayPart {
  std::span<const std::int64_t> shape;
  std::span<const T> values;

  bool is_vector() const { return shape.size() == 1; }

  /// Of what is no vector: the part at `index` of the first dimension.
  ArrayPart operator[](std::int64_t index) const {
    const std::size_t each = values.size() / static_cast<std::size_t>(shape.front());
    return {shape.subspan(1), values.subspan(static_cast<std::size_t>(index) * each, each)};
  }
};

/// visit(ArrayPart<T>), of the whole array in the type of its numbers.
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

/// Named values, in the order in which they were added.
class Record {
 public:
  Record() = default;
  Record(std::initializer_list<std::pair<std::string, Value>> fields);

  Record& add(std::string name, Value value);
  /// Null where there is no such field.
  const Value* find(std::string_view name) const;
  const std::vector<std::pair<std::string, Value>>& fields() const { return fields_; }

 private:
  std::vector<std::pair<std::string, Value>> fields_;
};

/// Null, or one of the types that JSON and CSV can hold. Numbers that are not finite become null.
/// Many numbers are an Array; a List is for what is no number, or not of one type.
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
  /// The value as T, or null where it is something else.
  template <class T>
  const T* get() const {
    return std::get_if<T>(&data_);
  }

 private:
  Data data_;
};

/// Throws Error(format) that names the field. Rows may come from a file (a store), which can hold
/// anything.
[[noreturn]] void refuse_field(std::string_view name);

/// The value as T; refuse_field(name) where it is something else.
template <class T>
const T& expect(const Value& value, std::string_view name) {
  const T* held = value.get<T>();
  if (held == nullptr) refuse_field(name);
  return *held;
}

/// That field of the record as T; refuse_field(name) where it is absent or something else.
template <class T>
const T& expect(const Record& record, std::string_view name) {
  const Value* value = record.find(name);
  if (value == nullptr) refuse_field(name);
  return expect<T>(*value, name);
}

/// The numbers of a field that is an array of T with one dimension.
template <class T>
const std::vector<T>& expect_vector(const Record& record, std::string_view name) {
  const Array& array = expect<Array>(record, name);
  const auto* values = std::get_if<std::vector<T>>(&array.data);
  if (values == nullptr || array.shape.size() != 1) refuse_field(name);
  return *values;
}

/// The numbers of a field that is an array of T with two dimensions. Valid as long as the record.
template <class T>
MatrixView<const T> expect_matrix(const Record& record, std::string_view name) {
  const Array& array = expect<Array>(record, name);
  const auto* values = std::get_if<std::vector<T>>(&array.data);
  if (values == nullptr || array.shape.size() != 2) refuse_field(name);
  return {values->data(), array.shape[0], array.shape[1], array.shape[1]};
}

}  // namespace attnscope
