// Reads Python pickles, protocols 2 to 5, as descriptions. Nothing is looked up, called or built.
// Source: CPython, Lib/pickletools.py.
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
  long_integer,  // past 64 bits
  real,
  text,
  bytes,
  tuple,
  list,
  set,
  dict,
  global,      // the name of a class or function
  object,      // the result of calling a global
  persistent,  // a reference to data outside the pickle: torch's storages
};

/// Index into Pickle::nodes.
using PickleRef = std::uint32_t;
inline constexpr PickleRef kNoPickleRef = UINT32_MAX;

/// One value. It may be part of several values, even of itself.
struct PickleNode {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;  // boolean, integer
  double real = 0;
  /// The content of text and bytes; the stored little-endian bytes of a long integer; the full name
  /// of a global, "collections.OrderedDict". Points into the pickle or into Pickle::names.
  std::string_view text = {};
  /// The items of a tuple, list or set; key, value, key, value, … of a dict or an object.
  std::vector<PickleRef> items = {};
  PickleRef callee = kNoPickleRef;     // object
  PickleRef arguments = kNoPickleRef;  // object; of `persistent` its id
  PickleRef state = kNoPickleRef;      // the state that BUILD gave an object or a dict; else none
};

/// The pickle's bytes must outlive it.
struct Pickle {
  std::vector<PickleNode> nodes;
  PickleRef root = kNoPickleRef;
  std::size_t bytes = 0;        // of the pickle itself; later bytes are not read
  std::set<std::string> names;  // of globals

  const PickleNode& at(PickleRef ref) const { return nodes[ref]; }
};

/// Throws Error(format) for unsupported opcodes, globals that no checkpoint needs (`may_be_named`),
/// and anything that Python would not accept as a pickle. Limits: 100,000,000 bytes, 4,000,000
/// values, nesting of 1,000.
Pickle read_pickle(std::span<const std::byte> bytes, const FileLocation& where,
                   const NeedBytes& need = {});

}  // namespace attnscope
