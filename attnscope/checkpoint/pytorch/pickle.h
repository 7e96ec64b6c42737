// Reads Python pickles, protocols 2 to 5, as descriptions. No object is looked up, called or
// created. Source: CPython, Lib/pickletools.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"

namespace attnscope {

enum class PickleKind : std::uint8_t {
  none,
  boolean,
  integer,
  long_integer,  // larger than 64 bits
  real,
  text,
  bytes,
  tuple,
  list,
  set,
  dict,
  global,      // the name of a class or function
  object,      // the result of calling a global
  persistent,  // a reference to data outside the pickle: storages of torch
};

/// Index into Pickle::nodes.
using PickleRef = std::uint32_t;
inline constexpr PickleRef kNoPickleRef = UINT32_MAX;

/// One value. It may be part of several values, even of itself.
struct PickleNode {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;  // for boolean, integer
  double real = 0;
  /// The content of text and bytes, the stored little-endian bytes of a long integer, or the full
  /// name of a global ("collections.OrderedDict"). Points into the pickle or into Pickle::names.
  std::string_view text = {};
  /// The items of a tuple, list or set. For a dict or an object: key, value, key, value, ….
  std::vector<PickleRef> items = {};
  PickleRef callee = kNoPickleRef;     // for object
  PickleRef arguments = kNoPickleRef;  // for object; for `persistent`: its id
  PickleRef state = kNoPickleRef;      // the state that BUILD gave an object or a dict; otherwise
                                       // none
};

/// The pickle's bytes must outlive it.
struct Pickle {
  std::vector<PickleNode> nodes;
  PickleRef root = kNoPickleRef;
  std::size_t bytes = 0;        // of the pickle itself; later bytes are not read
  std::set<std::string> names;  // of globals

  const PickleNode& at(PickleRef ref) const { return nodes[ref]; }
};

/// Throws Error(format) for unsupported opcodes, for globals that are not allowed in checkpoints
/// (`may_be_named`), and for anything that is not a valid pickle. Limits: 100,000,000 bytes,
/// 4,000,000 values, nesting depth 1,000.
Pickle read_pickle(std::span<const std::byte> bytes, const FileLocation& where,
                   const NeedBytes& need = {});

}  // namespace attnscope
