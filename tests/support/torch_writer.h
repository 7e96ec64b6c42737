// Small files of torch.save, sound ones and broken ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnscope::test {

/// One entry of a zip archive; what is set beside name and bytes makes it a lie.
struct ZipEntryToWrite {
  std::string name;
  std::string bytes;  // as they are stored
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::optional<std::uint32_t> declares_packed;  // its size by the directory
  std::optional<std::uint32_t> declares_bytes;   // unpacked
  std::optional<std::uint32_t> declares_header;  // where it begins
  std::optional<std::uint32_t> declares_crc;
  std::string extra;       // of the directory
  std::string local_name;  // of its own header
};

/// An archive with the entries in the order given. `declares_entries`: how many its end record
/// counts.
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
  std::int64_t count = 6;  // of its storage
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape = {2, 3};
  std::vector<std::int64_t> strides = {3, 1};
  std::string storage = "FloatStorage";
};
std::string pickled(const TorchTensor& tensor);

/// A whole pickle of protocol 2.
std::string pickle(const std::string& value);

/// What torch.save writes: the pickle, the storages by key, and the version.
std::vector<ZipEntryToWrite> torch_entries(const std::string& whole_pickle,
                                           const std::map<std::string, std::string>& storages);
std::string torch_archive(const std::string& whole_pickle,
                          const std::map<std::string, std::string>& storages);

/// 0, 1, … 5 as float32.
std::string six_floats();

/// An archive of one tensor `t` and its storage.
std::string archive_of(const TorchTensor& tensor);

/// The stream of older versions: pickles, and storages of `element_bytes`.
std::string torch_stream(const std::string& whole_pickle,
                         const std::map<std::string, std::string>& storages,
                         std::size_t element_bytes = 4);

}  // namespace attnscope::test
