#include "tests/support/torch_writer.h"

#include <zlib.h>

namespace attnscope::test {
namespace {

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()),
                                            static_cast<z_size_t>(bytes.size())));
}

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

std::string pickled_sizes(const std::vector<std::int64_t>& sizes) {
  std::vector<std::string> items;
  for (const std::int64_t size : sizes) items.push_back(pickled(size));
  return pickled_tuple(items);
}

/// Fields that are common to a local header and an entry of the directory.
std::string common_fields(const ZipEntryToWrite& entry, std::string_view name,
                          std::size_t extra_bytes) {
  const auto size = static_cast<std::uint32_t>(entry.bytes.size());
  return little_endian(entry.flags, 2) + little_endian(entry.method, 2) + little_endian(0, 4) +
         little_endian(entry.declares_crc.value_or(checksum(entry.bytes)), 4) +
         little_endian(entry.declares_packed.value_or(size), 4) +
         little_endian(entry.declares_bytes.value_or(size), 4) + little_endian(name.size(), 2) +
         little_endian(extra_bytes, 2);
}

}  // namespace

std::string little_endian(std::uint64_t value, std::size_t bytes) {
  std::string out;
  for (; bytes > 0; --bytes, value >>= 8) out += static_cast<char>(value & 0xFF);
  return out;
}

std::string zip_bytes(const std::vector<ZipEntryToWrite>& entries,
                      std::optional<std::uint16_t> declares_entries, std::string_view comment) {
  std::string file, directory;
  for (const ZipEntryToWrite& entry : entries) {
    const std::string& local_name = entry.local_name.empty() ? entry.name : entry.local_name;
    const auto header = static_cast<std::uint32_t>(file.size());
    file += "PK\3\4" + little_endian(20, 2) + common_fields(entry, local_name, 0) + local_name +
            entry.bytes;
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) +
                 common_fields(entry, entry.name, entry.extra.size()) + std::string(10, '\0') +
                 little_endian(entry.declares_header.value_or(header), 4) + entry.name +
                 entry.extra;
  }
  const std::uint64_t count = declares_entries.value_or(static_cast<std::uint16_t>(entries.size()));
  const std::size_t begin = file.size();
  return file + directory + "PK\5\6" + std::string(4, '\0') + little_endian(count, 2) +
         little_endian(count, 2) + little_endian(directory.size(), 4) + little_endian(begin, 4) +
         little_endian(comment.size(), 2) + std::string(comment);
}

std::string deflated(std::string_view bytes) {
  std::string out(compressBound(static_cast<uLong>(bytes.size())) + 16, '\0');
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string pickled(std::string_view text) {
  return "X" + little_endian(text.size(), 4) + std::string(text);
}

std::string pickled(std::int64_t number) {
  return "\x8a\x08" + little_endian(static_cast<std::uint64_t>(number), 8);
}

std::string pickled_tuple(const std::vector<std::string>& items) {
  return "(" + joined(items) + "t";
}

std::string pickled_list(const std::vector<std::string>& items) {
  return "](" + joined(items) + "e";
}

std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += pickled(key) + value;
  return out + "u";
}

std::string pickled_global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

std::string pickled_call(const std::string& callee, const std::vector<std::string>& arguments) {
  return callee + pickled_tuple(arguments) + "R";
}

std::string pickled(const TorchTensor& tensor) {
  const std::string storage =
      pickled_tuple({pickled("storage"), pickled_global("torch", tensor.storage),
                     pickled(tensor.key), pickled("cuda:0"), pickled(tensor.count)}) +
      "Q";
  return pickled_call(pickled_global("torch._utils", "_rebuild_tensor_v2"),
                      {storage, pickled(tensor.offset), pickled_sizes(tensor.shape),
                       pickled_sizes(tensor.strides), "\x89", "}"});
}

std::string pickle(const std::string& value) { return "\x80\x02" + value + "."; }

std::vector<ZipEntryToWrite> torch_entries(const std::string& whole_pickle,
                                           const std::map<std::string, std::string>& storages) {
  std::vector<ZipEntryToWrite> entries = {{.name = "model/data.pkl", .bytes = whole_pickle},
                                          {.name = "model/version", .bytes = "3\n"}};
  for (const auto& [key, bytes] : storages) {
    entries.push_back({.name = "model/data/" + key, .bytes = bytes});
  }
  return entries;
}

std::string torch_archive(const std::string& whole_pickle,
                          const std::map<std::string, std::string>& storages) {
  return zip_bytes(torch_entries(whole_pickle, storages));
}

std::string six_floats() {
  std::string out;
  for (int value = 0; value < 6; ++value) {
    const auto number = static_cast<float>(value);
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return out;
}

std::string archive_of(const TorchTensor& tensor) {
  return torch_archive(pickle(pickled_dict({{"t", pickled(tensor)}})), {{"0", six_floats()}});
}

std::string torch_stream(const std::string& whole_pickle,
                         const std::map<std::string, std::string>& storages,
                         std::size_t element_bytes) {
  constexpr std::string_view kMagic("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 12);
  std::vector<std::string> keys;
  std::string data;
  for (const auto& [key, bytes] : storages) {
    keys.push_back(pickled(key));
    data += little_endian(bytes.size() / element_bytes, 8) + bytes;
  }
  return pickle(std::string(kMagic)) + pickle(pickled(1001)) +
         pickle(pickled_dict({{"little_endian", "\x88"}})) + whole_pickle +
         pickle(pickled_list(keys)) + data;
}

}  // namespace attnscope::test
