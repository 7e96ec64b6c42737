#include "attnscope/checkpoint/pytorch/pickled_tensor.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

constexpr std::size_t kMaxPickledDimensions = 16;
constexpr int kMaxWrappers = 8;

struct StorageClass {
  std::string_view name;
  std::uint64_t element_bytes;
  std::optional<DType> dtype;
};
constexpr std::array kStorageClasses = {
    StorageClass{"torch.DoubleStorage", 8, DType::f64},
    StorageClass{"torch.FloatStorage", 4, DType::f32},
    StorageClass{"torch.HalfStorage", 2, DType::f16},
    StorageClass{"torch.BFloat16Storage", 2, DType::bf16},
    StorageClass{"torch.LongStorage", 8, DType::i64},
    StorageClass{"torch.IntStorage", 4, DType::i32},
    StorageClass{"torch.ShortStorage", 2, DType::i16},
    StorageClass{"torch.CharStorage", 1, DType::i8},
    StorageClass{"torch.ByteStorage", 1, DType::u8},
    StorageClass{"torch.BoolStorage", 1, DType::boolean},
    StorageClass{"torch.ComplexFloatStorage", 8, DType::c64},
    StorageClass{"torch.ComplexDoubleStorage", 16, std::nullopt},
    StorageClass{"torch.QInt8Storage", 1, DType::i8},
    StorageClass{"torch.QUInt8Storage", 1, DType::u8},
    StorageClass{"torch.QInt32Storage", 4, DType::i32},
    StorageClass{"torch.storage.UntypedStorage", 1, std::nullopt},
};

struct NamedDType {
  std::string_view name;
  DType dtype;
};
constexpr std::array kTorchDTypes = {
    NamedDType{"torch.float64", DType::f64},
    NamedDType{"torch.float32", DType::f32},
    NamedDType{"torch.float16", DType::f16},
    NamedDType{"torch.bfloat16", DType::bf16},
    NamedDType{"torch.int64", DType::i64},
    NamedDType{"torch.int32", DType::i32},
    NamedDType{"torch.int16", DType::i16},
    NamedDType{"torch.int8", DType::i8},
    NamedDType{"torch.uint64", DType::u64},
    NamedDType{"torch.uint32", DType::u32},
    NamedDType{"torch.uint16", DType::u16},
    NamedDType{"torch.uint8", DType::u8},
    NamedDType{"torch.bool", DType::boolean},
    NamedDType{"torch.complex64", DType::c64},
    NamedDType{"torch.float8_e4m3fn", DType::f8_e4m3},
    NamedDType{"torch.float8_e5m2", DType::f8_e5m2},
    NamedDType{"torch.float8_e4m3fnuz", DType::f8_e4m3fnuz},
    NamedDType{"torch.float8_e5m2fnuz", DType::f8_e5m2fnuz},
    NamedDType{"torch.float8_e8m0fnu", DType::f8_e8m0},
};

/// The signatures of the functions that rebuild a tensor.
enum class Rebuild { parameter, by_type, strided, with_dtype, sparse, without_data };

struct Rebuilder {
  std::string_view name;
  Rebuild way;
};
constexpr std::array kRebuilders = {
    Rebuilder{"torch._utils._rebuild_parameter", Rebuild::parameter},
    Rebuilder{"torch._utils._rebuild_parameter_with_state", Rebuild::parameter},
    Rebuilder{"torch._tensor._rebuild_from_type_v2", Rebuild::by_type},
    Rebuilder{"torch._utils._rebuild_tensor", Rebuild::strided},
    Rebuilder{"torch._utils._rebuild_tensor_v2", Rebuild::strided},
    Rebuilder{"torch._utils._rebuild_tensor_v3", Rebuild::with_dtype},
    Rebuilder{"torch._utils._rebuild_qtensor", Rebuild::strided},
    Rebuilder{"torch._utils._rebuild_sparse_tensor", Rebuild::sparse},
    Rebuilder{"torch._utils._rebuild_meta_tensor_no_storage", Rebuild::without_data},
};

template <class Table>
auto find_named(const Table& table, const PickleNode& global) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const auto& entry) {
    return global.kind == PickleKind::global && entry.name == global.text;
  });
  return found == table.end() ? nullptr : &*found;
}

const Rebuilder* rebuilder_of(const Pickle& pickle, const PickleNode& value) {
  return value.kind == PickleKind::object ? find_named(kRebuilders, pickle.at(value.callee))
                                          : nullptr;
}

/// Reads one description: a function call, with checks of its arguments.
class Call {
 public:
  Call(const Pickle& pickle, PickleRef arguments, const FileLocation& where)
      : pickle_(pickle), items_(pickle.at(arguments).items), where_(where) {
    if (pickle.at(arguments).kind != PickleKind::tuple) wrong("arguments");
  }

  std::size_t size() const { return items_.size(); }

  PickleRef ref(std::size_t index, std::string_view what) const {
    if (index >= items_.size()) wrong(what);
    return items_[index];
  }

  const PickleNode& at(std::size_t index, std::string_view what) const {
    return pickle_.at(ref(index, what));
  }

  std::uint64_t size_at(std::size_t index, std::string_view what) const {
    return static_cast<std::uint64_t>(whole(at(index, what), what));
  }

  /// Reads a tuple of sizes, or a torch.Size that was called with one.
  Shape sizes_at(std::size_t index, std::string_view what) const {
    const PickleNode* sizes = &at(index, what);
    if (sizes->kind == PickleKind::object && pickle_.at(sizes->callee).text == "torch.Size") {
      const PickleNode& arguments = pickle_.at(sizes->arguments);
      if (arguments.items.size() != 1) wrong(what);
      sizes = &pickle_.at(arguments.items.front());
    }
    if (sizes->kind != PickleKind::tuple && sizes->kind != PickleKind::list) wrong(what);
    if (sizes->items.size() > kMaxPickledDimensions) refuse(where_, "has more than 16 dimensions");
    Shape out;
    for (const PickleRef item : sizes->items) out.push_back(whole(pickle_.at(item), what));
    return out;
  }

  [[noreturn]] void wrong(std::string_view what) const {
    refuse(where_, "its " + std::string(what) + " is not in the form that torch writes");
  }

 private:
  std::int64_t whole(const PickleNode& number, std::string_view what) const {
    if (number.kind != PickleKind::integer || number.integer < 0) wrong(what);
    return number.integer;
  }

  const Pickle& pickle_;
  const std::vector<PickleRef>& items_;
  const FileLocation& where_;
};

/// Whether a tensor is marked as a negated or conjugated view.
bool is_marked(const Pickle& pickle, const Call& call, std::size_t index) {
  if (call.size() <= index) return false;
  const PickleNode& marks = call.at(index, "marks");
  for (std::size_t item = 0; item + 1 < marks.items.size(); item += 2) {
    const PickleNode& set = pickle.at(marks.items[item + 1]);
    if (set.kind == PickleKind::boolean && set.integer != 0) return true;
  }
  return false;
}

PickledTensor strided_tensor(const Pickle& pickle, const Call& call, bool with_dtype,
                             const FileLocation& where) {
  const PickleNode& persistent = call.at(0, "storage");
  const auto storage = describe_storage(pickle, persistent, where);
  if (!storage) call.wrong("storage");
  PickledTensor tensor{.storage = *storage,
                       .dtype = storage->dtype,
                       .offset = call.size_at(1, "offset"),
                       .shape = call.sizes_at(2, "shape"),
                       .strides = call.sizes_at(3, "strides")};
  if (tensor.shape.size() != tensor.strides.size()) call.wrong("strides");
  if (with_dtype) {
    const PickleNode& name = call.at(6, "dtype");
    if (name.kind != PickleKind::global) call.wrong("dtype");
    const NamedDType* known = find_named(kTorchDTypes, name);
    tensor.dtype = known == nullptr ? std::nullopt : std::optional(known->dtype);
    if (known == nullptr) tensor.skipped = "it has type " + std::string(name.text);
  } else if (!tensor.dtype) {
    tensor.skipped = "its element type is not supported";
  }
  if (is_marked(pickle, call, with_dtype ? 7 : 6)) {
    tensor.skipped = "it is a negated or conjugated view";
  }
  return tensor;
}

PickledTensor describe_call(const Pickle& pickle, const Rebuilder& rebuilder, PickleRef arguments,
                            const FileLocation& where, int depth) {
  const Call call(pickle, arguments, where);
  if (depth > kMaxWrappers) call.wrong("wrapping");
  switch (rebuilder.way) {
    case Rebuild::parameter: {
      const PickleNode& inner = call.at(0, "tensor");
      const Rebuilder* own = rebuilder_of(pickle, inner);
      if (own == nullptr) call.wrong("tensor");
      return describe_call(pickle, *own, inner.arguments, where, depth + 1);
    }
    case Rebuild::by_type: {
      const Rebuilder* own = find_named(kRebuilders, call.at(0, "function"));
      if (own == nullptr) call.wrong("function");
      return describe_call(pickle, *own, call.ref(2, "arguments"), where, depth + 1);
    }
    case Rebuild::strided: return strided_tensor(pickle, call, /*with_dtype=*/false, where);
    case Rebuild::with_dtype: return strided_tensor(pickle, call, /*with_dtype=*/true, where);
    case Rebuild::sparse: return {.skipped = "it is sparse"};
    case Rebuild::without_data: return {.skipped = "the file contains its shape but no values"};
  }
  call.wrong("function");
}

}  // namespace

bool is_tensor(const Pickle& pickle, PickleRef value) {
  return rebuilder_of(pickle, pickle.at(value)) != nullptr;
}

PickledTensor describe_tensor(const Pickle& pickle, PickleRef value, const FileLocation& where) {
  const PickleNode& node = pickle.at(value);
  return describe_call(pickle, *rebuilder_of(pickle, node), node.arguments, where, 0);
}

std::optional<PickledStorage> describe_storage(const Pickle& pickle, const PickleNode& persistent,
                                               const FileLocation& where) {
  if (persistent.kind != PickleKind::persistent) return std::nullopt;
  // ("storage", class, key, location, count[, none or (key, first, count)])
  const Call id(pickle, persistent.arguments, where);
  if (id.at(0, "storage").text != "storage") return std::nullopt;
  const StorageClass* known = find_named(kStorageClasses, id.at(1, "storage class"));
  if (known == nullptr) id.wrong("storage class");
  const PickleNode& key = id.at(2, "storage key");
  if (key.kind != PickleKind::text) id.wrong("storage key");
  const std::uint64_t count = id.size_at(4, "storage size");
  PickledStorage storage{.key = key.text,
                         .count = count,
                         .element_bytes = known->element_bytes,
                         .dtype = known->dtype,
                         .kept_count = count};
  if (id.size() > 5 && id.at(5, "storage view").kind != PickleKind::none) {
    const Call view(pickle, id.ref(5, "storage view"), where);
    storage.first = view.size_at(1, "storage view");
    storage.count = view.size_at(2, "storage view");
    if (storage.first > count || storage.count > count - storage.first) id.wrong("storage view");
  }
  return storage;
}

}  // namespace attnscope
