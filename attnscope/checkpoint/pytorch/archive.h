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
  /// Reads the directory, and checks that it is one of torch.save. Throws Error(format), and
  /// Error(unsupported) for programs of TorchScript and versions that are not known.
  Archive(std::span<const std::byte> bytes, const std::string& file, const NeedBytes& need);

  /// Its texts are the archive's.
  Pickle pickle();
  bool is_big_endian() const;

  /// Throws Error(format) where there is none under that key.
  StorageRecord storage(std::string_view key) const;

 private:
  bool has(std::string_view name) const { return entries_.count(top_ + std::string(name)) > 0; }
  std::string find_top() const;
  void check_version() const;

  /// The bytes of an entry that is no storage, unpacked into `memory` if they are packed.
  std::span<const std::byte> content(std::string_view name, std::vector<std::byte>& memory) const;

  std::span<const std::byte> bytes_;
  std::string file_;
  NeedBytes need_;
  ZipDirectory entries_;
  std::string top_;  // the folder, with its "/"; its name is whatever the file was called
  std::vector<std::byte> unpacked_pickle_;
};

}  // namespace attnscope
