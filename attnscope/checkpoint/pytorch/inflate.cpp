#include "attnscope/checkpoint/pytorch/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include "attnscope/core/wording.h"

namespace attnscope {
namespace {

/// A deflate stream makes at most this many bytes of one: 258 of two bits.
constexpr std::uint64_t kMaxBytesOfOne = 1032;

/// zlib counts in 32 bits.
uInt piece(std::size_t left) { return static_cast<uInt>(std::min<std::size_t>(left, UINT_MAX)); }

}  // namespace

std::vector<std::byte> inflate_bytes(std::span<const std::byte> packed, std::uint64_t size,
                                     std::uint32_t crc, const FilePlace& where) {
  if (size / kMaxBytesOfOne > packed.size()) {
    refuse(where, counted(packed.size(), "deflated byte") + " cannot hold the " +
                      std::to_string(size) + " that its entry promises");
  }
  // One byte more than is promised shows a stream that goes on.
  std::vector<std::byte> out(static_cast<std::size_t>(size) + 1);
  z_stream stream = {};
  constexpr int kRaw = -MAX_WBITS;
  if (inflateInit2(&stream, kRaw) != Z_OK) refuse(where, "zlib cannot start");
  std::size_t used = 0, made = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + used));
    stream.avail_in = piece(packed.size() - used);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + made);
    stream.avail_out = piece(out.size() - made);
    const uInt in = stream.avail_in, room = stream.avail_out;
    status = inflate(&stream, Z_NO_FLUSH);
    used += in - stream.avail_in;
    made += room - stream.avail_out;
    if (made > size) break;
  }
  inflateEnd(&stream);
  if (made > size) refuse(where, "unpacks to more bytes than its entry promises");
  if (status != Z_STREAM_END) refuse(where, "its deflated bytes are damaged");
  if (made < size || used < packed.size()) {
    refuse(where, "unpacks to " + counted(made, "byte") + " of " + std::to_string(used) +
                      ", its entry promises " + std::to_string(size) + " of " +
                      std::to_string(packed.size()));
  }
  out.resize(made);
  if (crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size()) != crc) {
    refuse(where, "unpacks to bytes of another checksum than its entry promises");
  }
  return out;
}

}  // namespace attnscope
