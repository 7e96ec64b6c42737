// Small torch.save files, valid and invalid ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnscope::test {

/// One entry of a zip archive. All fields except name and bytes make it invalid.
struct ZipEntryToWrite {
  std::string name;
  std::string bytes;  // as stored
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::optional<std::uint32_t> declares_packed;  // compressed size in the directory
  std::optional<std::uint32_t> declares_bytes;   // uncompressed size
  std::optional<std::uint32_t> declares_header;  // offset of the local header
  std::optional<std::uint32_t> declares_crc;
  std::string extra;       // of the directory entry
  std::string local_name;  // in the local header
};

/// An archive with the entries in the given order. `declares_entries`: number of entries in its end
/// record.
std::string zip_bytes(const std::vector<ZipEntryToWrite>& entries,
                      std::optional<std::uint16_t> declares_entries = {},
                      std::string_view comment = "");

/// The lowest bytes of `value`, little-endian.
std::string little_endian(std::uint64_t value, std::size_t bytes);

/// `bytes` as a raw deflate stream.
std::string deflated(std::string_view bytes);

// ---- Parts of pickles: each leaves one value on the stack.

std::string pickled(std::string_view text);
std::string pickled(std::int64_t number);
std::string pickled_tuple(const std::vector<std::string>& items);
std::string pickled_list(const std::vector<std::string>& items);
std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& items);
std::string pickled_global(std::string_view module, std::string_view name);
std::string pickled_call(const std::string& callee, const std::vector<std::string>& arguments);

struct TorchTensor {
  std::string key = "0";
  std::int64_t count = 6;  // elements of its storage
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape = {2, 3};
  std::vector<std::int64_t> strides = {3, 1};
  std::string storage = "FloatStorage";
};
std::string pickled(const TorchTensor& tensor);

/// A complete pickle of protocol 2.
std::string pickle(const std::string& value);

/// The entries that torch.save writes: the pickle, the storages by key, and the version.
std::vector<ZipEntryToWrite> torch_entries(const std::string& whole_pickle,
                                           const std::map<std::string, std::string>& storages);
std::string torch_archive(const std::string& whole_pickle,
                          const std::map<std::string, std::string>& storages);

/// 0, 1, … 5 as float32.
std::string six_floats();

/// An archive of one tensor `t` and its storage.
std::string archive_of(const TorchTensor& tensor);

/// The stream format of older versions: pickles, and storages of `element_bytes`.
std::string torch_stream(const std::string& whole_pickle,
                         const std::map<std::string, std::string>& storages,
                         std::size_t element_bytes = 4);

}  // namespace attnscope::test
