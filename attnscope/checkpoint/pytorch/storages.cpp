#include "attnscope/checkpoint/pytorch/storages.h"

#include <algorithm>
#include <optional>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/pytorch/zip.h"

namespace attnscope {
namespace {

/// Strides of 0 create large tensors from few bytes. They are accepted up to this number of
/// elements, because masks and position ids use them.
constexpr std::int64_t kMaxRepeated = std::int64_t{1} << 28;

bool is_empty(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

/// Returns the number of elements from the first one of the view to its last; nothing on overflow.
std::optional<std::uint64_t> reach_of(const PickledTensor& tensor) {
  if (is_empty(tensor.shape)) return 0;
  std::optional<std::uint64_t> reach = 1;
  for (std::size_t axis = 0; axis < tensor.shape.size() && reach; ++axis) {
    const auto steps = static_cast<std::uint64_t>(tensor.shape[axis] - 1);
    const auto more = checked_mul(steps, static_cast<std::uint64_t>(tensor.strides[axis]));
    reach = more ? checked_add(*reach, *more) : std::nullopt;
  }
  return reach;
}

/// Whether there are at most 2^63 - 1 elements. A stride of 0 needs no storage for them.
bool is_countable(const Shape& shape) {
  std::optional<std::uint64_t> count = 1;
  if (is_empty(shape)) return true;
  for (const std::int64_t size : shape) {
    count = checked_mul(*count, static_cast<std::uint64_t>(size));
    if (!count || *count > INT64_MAX / 16) return false;
  }
  return true;
}

/// Whether the elements are row-major. Axes of size 1 may have any stride.
bool is_row_major(const PickledTensor& tensor) {
  std::int64_t expected = 1;
  for (std::size_t axis = tensor.shape.size(); axis-- > 0;) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

void swap_bytes(std::vector<std::byte>& bytes, std::uint64_t element_bytes) {
  for (std::size_t begin = 0; begin + element_bytes <= bytes.size(); begin += element_bytes) {
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(begin);
    std::reverse(first, first + static_cast<std::ptrdiff_t>(element_bytes));
  }
}

}  // namespace

std::span<const std::byte> Storages::bytes_of(const PickledTensor& tensor,
                                              std::uint64_t element_bytes,
                                              const FileLocation& where) {
  const std::string key(tensor.storage.key);
  auto record = records_.find(key);
  if (record == records_.end()) record = records_.emplace(key, find_(tensor.storage)).first;
  const StorageRecord& stored = record->second;
  const auto declared_bytes = checked_mul(tensor.storage.kept_count, tensor.storage.element_bytes);
  if (declared_bytes != stored.bytes) {
    refuse(where, "its storage should hold " + counted(tensor.storage.kept_count, "element") +
                      " of " + counted(tensor.storage.element_bytes, "byte") + ", but contains " +
                      counted(stored.bytes, "byte"));
  }
  // The two halves of a complex number are byte-swapped separately.
  const std::uint64_t swapped = !big_endian_                 ? 1
                                : tensor.dtype == DType::c64 ? element_bytes / 2
                                                             : element_bytes;
  if (!stored.deflated && swapped == 1) return stored.packed;

  auto& memory = unpacked_[{key, swapped}];
  if (memory != nullptr) return *memory;
  if (stored.bytes > unpacked_left_) {
    refuse(where, "the compressed contents exceed the limit for a file of this size");
  }
  unpacked_left_ -= stored.bytes;
  if (need_) need_(stored.packed);
  memory = std::make_shared<std::vector<std::byte>>(
      stored.deflated ? inflate_bytes(stored.packed, stored.bytes, stored.crc, where)
                      : std::vector(stored.packed.begin(), stored.packed.end()));
  if (swapped > 1) swap_bytes(*memory, swapped);
  return *memory;
}

TensorView Storages::view(const PickledTensor& tensor, const FileLocation& where) {
  const auto element_bytes = static_cast<std::uint64_t>(dtype_info(*tensor.dtype).bits / 8);
  const auto reach = reach_of(tensor);
  const auto end = reach ? checked_add(tensor.offset, *reach) : std::nullopt;
  if (!end || !is_countable(tensor.shape)) {
    refuse(where, "shape " + shape_text(tensor.shape) + " overflows the number of elements");
  }
  TensorView view{.dtype = *tensor.dtype, .shape = tensor.shape};
  const auto bytes = bytes_of(tensor, element_bytes, where);
  if (*reach == 0) return view;
  const std::uint64_t in_storage =
      tensor.storage.count * tensor.storage.element_bytes / element_bytes;
  if (*end > in_storage) {
    refuse(where, "its elements end at " + std::to_string(*end) + ", past the " +
                      std::to_string(in_storage) + " of its storage");
  }
  if (view.element_count() > kMaxRepeated &&
      static_cast<std::uint64_t>(view.element_count()) > in_storage) {
    refuse(where, "shape " + shape_text(tensor.shape) + " repeats the " +
                      counted(in_storage, "element") + " of its storage too often");
  }
  const std::uint64_t first = tensor.storage.first * tensor.storage.element_bytes;
  view.bytes = bytes.subspan(static_cast<std::size_t>(first + tensor.offset * element_bytes),
                             static_cast<std::size_t>(*reach * element_bytes));
  if (!is_row_major(tensor)) view.strides = tensor.strides;
  return view;
}

std::vector<std::shared_ptr<const std::vector<std::byte>>> Storages::memory() const {
  std::vector<std::shared_ptr<const std::vector<std::byte>>> out;
  for (const auto& [key, bytes] : unpacked_) out.push_back(bytes);
  return out;
}

}  // namespace attnscope
