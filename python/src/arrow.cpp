#include "python/src/arrow.h"

#include <cerrno>
#include <cstdint>

// Structures of the C data interface. Their memory layout is part of the interface.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema* out);
  int (*get_next)(ArrowArrayStream*, ArrowArray* out);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

namespace attnscope::python {
namespace {

namespace nb = nanobind;

constexpr std::int64_t kNullable = 2;  // ARROW_FLAG_NULLABLE

const char* format_of(ColumnType type) {
  switch (type) {
    case ColumnType::null: return "n";
    case ColumnType::boolean: return "b";
    case ColumnType::int64: return "l";
    case ColumnType::float32: return "f";
    case ColumnType::float64: return "g";
    case ColumnType::text: return "U";
    case ColumnType::list: return "+L";
    case ColumnType::record: return "+s";
  }
  return "n";
}

template <class Node>
void release_if_held(Node* node) {
  if (node->release != nullptr) node->release(node);
}

/// Owns everything that a structure of the interface points to.
struct SchemaOwner {
  std::string name;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
};

void release_schema(ArrowSchema* schema) {
  auto* owner = static_cast<SchemaOwner*>(schema->private_data);
  for (ArrowSchema* child : owner->pointers) release_if_held(child);
  delete owner;
  schema->release = nullptr;
}

void fill_schema(ArrowSchema* out, const char* format, const std::string& name,
                 const Columns& children) {
  auto owner = std::make_unique<SchemaOwner>();
  owner->name = name;
  for (const auto& [child_name, child] : children) {
    owner->children.push_back(std::make_unique<ArrowSchema>());
    fill_schema(owner->children.back().get(), format_of(child.type), child_name, child.children);
    owner->pointers.push_back(owner->children.back().get());
  }
  *out = {.format = format,
          .name = owner->name.c_str(),
          .flags = kNullable,
          .n_children = std::ssize(owner->pointers),
          .children = owner->pointers.data(),
          .release = release_schema};
  out->private_data = owner.release();
}

struct ArrayOwner {
  std::shared_ptr<const Columns> columns;
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
};

void release_array(ArrowArray* array) {
  auto* owner = static_cast<ArrayOwner*>(array->private_data);
  for (ArrowArray* child : owner->pointers) release_if_held(child);
  delete owner;
  array->release = nullptr;
}

/// Returns the buffers in the order of the format. The first one is the validity bitmap.
std::vector<const void*> buffers_of(const Column& column) {
  const void* valid = column.valid.empty() ? nullptr : column.valid.data();
  switch (column.type) {
    case ColumnType::null: return {};
    case ColumnType::boolean: return {valid, column.bits.data()};
    case ColumnType::int64: return {valid, column.integers.data()};
    case ColumnType::float32: return {valid, column.floats.data()};
    case ColumnType::float64: return {valid, column.doubles.data()};
    case ColumnType::text: return {valid, column.offsets.data(), column.bytes.data()};
    case ColumnType::list: return {valid, column.offsets.data()};
    case ColumnType::record: return {valid};
  }
  return {};
}

void fill_array(ArrowArray* out, std::int64_t length, std::int64_t nulls,
                std::vector<const void*> buffers, const Columns& children,
                const std::shared_ptr<const Columns>& columns) {
  auto owner = std::make_unique<ArrayOwner>();
  owner->columns = columns;
  owner->buffers = std::move(buffers);
  for (const auto& [name, child] : children) {
    owner->children.push_back(std::make_unique<ArrowArray>());
    fill_array(owner->children.back().get(), child.length, child.nulls, buffers_of(child),
               child.children, columns);
    owner->pointers.push_back(owner->children.back().get());
  }
  *out = {.length = length,
          .null_count = nulls,
          .n_buffers = std::ssize(owner->buffers),
          .n_children = std::ssize(owner->pointers),
          .buffers = owner->buffers.data(),
          .children = owner->pointers.data(),
          .release = release_array};
  out->private_data = owner.release();
}

struct StreamOwner {
  std::shared_ptr<const Columns> columns;
  bool is_given = false;
};

StreamOwner& owner_of(ArrowArrayStream* stream) {
  return *static_cast<StreamOwner*>(stream->private_data);
}

/// C code calls these functions, so they must not throw.
int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  try {
    fill_schema(out, "+s", "", *owner_of(stream).columns);
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  StreamOwner& owner = owner_of(stream);
  *out = {};  // a released array marks the end of the stream
  if (owner.is_given) return 0;
  try {
    const Columns& columns = *owner.columns;
    const std::int64_t rows = columns.empty() ? 0 : columns.front().second.length;
    fill_array(out, rows, 0, {nullptr}, columns, owner.columns);
    owner.is_given = true;
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

void release_stream(ArrowArrayStream* stream) {
  delete &owner_of(stream);
  stream->release = nullptr;
}

/// A capsule that releases its structure if no consumer has taken it.
template <class Node>
nb::capsule capsule_of(std::unique_ptr<Node> node, const char* name) {
  return nb::capsule(node.release(), name, [](void* pointer) noexcept {
    auto* held = static_cast<Node*>(pointer);
    release_if_held(held);
    delete held;
  });
}

}  // namespace

nb::capsule arrow_schema(const Columns& columns) {
  auto schema = std::make_unique<ArrowSchema>();
  fill_schema(schema.get(), "+s", "", columns);
  return capsule_of(std::move(schema), "arrow_schema");
}

nb::capsule arrow_stream(std::shared_ptr<const Columns> columns) {
  auto stream = std::make_unique<ArrowArrayStream>();
  *stream = {.get_schema = get_schema,
             .get_next = get_next,
             .get_last_error = [](ArrowArrayStream*) -> const char* { return nullptr; },
             .release = release_stream,
             .private_data = new StreamOwner{std::move(columns)}};
  return capsule_of(std::move(stream), "arrow_array_stream");
}

}  // namespace attnscope::python
