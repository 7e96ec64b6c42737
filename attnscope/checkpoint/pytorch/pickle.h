// Python pickles, protocols 2 to 5, read as descriptions: nothing is looked up, called or built.
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
  object,      // what calling one would give
  persistent,  // what lies outside of the pickle: torch's storages
};

/// Index into Pickle::nodes.
using PickleRef = std::uint32_t;
inline constexpr PickleRef kNoPickleRef = UINT32_MAX;

/// One value. A value may be part of several, also of itself.
struct PickleNode {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;  // boolean, integer
  double real = 0;
  /// Of text and bytes; of long integers as they are stored, little-endian; of a global its whole
  /// name, "collections.OrderedDict". Points into the pickle or into Pickle::names.
  std::string_view text = {};
  /// Of tuple, list, set; of a dict or an object key, value, key, value, …
  std::vector<PickleRef> items = {};
  PickleRef callee = kNoPickleRef;     // object
  PickleRef arguments = kNoPickleRef;  // object; of `persistent` its id
  PickleRef state = kNoPickleRef;      // what BUILD gave an object or a dict; else none
};

/// The pickle's bytes must outlive it.
struct Pickle {
  std::vector<PickleNode> nodes;
  PickleRef root = kNoPickleRef;
  std::size_t bytes = 0;        // of the pickle itself; what follows is not looked at
  std::set<std::string> names;  // of globals

  const PickleNode& at(PickleRef ref) const { return nodes[ref]; }
};

/// Throws Error(format) for opcodes that are not read, globals that no checkpoint needs
/// (`may_be_named`), and whatever would not be a pickle to Python either. Pickles are at most
/// 100,000,000 bytes, of 4,000,000 values, and 1,000 brackets deep.
Pickle read_pickle(std::span<const std::byte> bytes, const FilePlace& where,
                   const NeedBytes& need = {});

}  // namespace attnscope
