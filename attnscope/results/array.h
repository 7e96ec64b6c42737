// Numbers of one type with a shape, in one buffer: singular values, counts of a histogram, the map
// of a head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace attnscope {

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

}  // namespace attnscope
