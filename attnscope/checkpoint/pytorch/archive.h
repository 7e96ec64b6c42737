// The zip archive of torch.save: a folder with a pickle, the storages of its tensors, and small
// texts. Source: pytorch/pytorch, caffe2/serialize/inline_container.cc.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/pytorch/pickle.h"
#include "attnscope/checkpoint/pytorch/storages.h"
#include "attnscope/checkpoint/pytorch/zip.h"

namespace attnscope {

class Archive {
 public:
  /// Reads the directory and checks that torch.save wrote it. Throws Error(format), and
  /// Error(unsupported) for TorchScript programs and unknown versions.
  Archive(std::span<const std::byte> bytes, const std::string& file, const NeedBytes& need);

  /// Returns the archive's pickle. Its texts point into the archive.
  Pickle pickle();
  bool is_big_endian() const;

  /// Returns the storage with that key. Throws Error(format) if there is none.
  StorageRecord storage(std::string_view key) const;

 private:
  bool has(std::string_view name) const { return entries_.count(top_ + std::string(name)) > 0; }
  std::string find_top() const;
  void check_version() const;

  /// Returns the bytes of an entry other than a storage. Deflated bytes are unpacked into `memory`.
  std::span<const std::byte> content(std::string_view name, std::vector<std::byte>& memory) const;

  std::span<const std::byte> bytes_;
  std::string file_;
  NeedBytes need_;
  ZipDirectory entries_;
  std::string top_;  // the top folder with its "/"; it has the name under which the file was saved
  std::vector<std::byte> unpacked_pickle_;
};

}  // namespace attnscope
