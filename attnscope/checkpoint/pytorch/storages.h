// The bytes of tensors: in place in the file, or unpacked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/pytorch/pickled_tensor.h"

namespace attnscope {

/// One storage as stored in the file.
struct StorageRecord {
  std::span<const std::byte> packed;
  std::uint64_t bytes = 0;  // size when unpacked
  std::uint32_t crc = 0;    // CRC of the unpacked bytes, for deflated storages
  bool deflated = false;
};

/// Finds the record of a storage. Throws Error(format) if there is none.
using FindRecord = std::function<StorageRecord(const PickledStorage& storage)>;

/// Assigns bytes to tensors. Little-endian storages are used in place. Others are unpacked into
/// memory when the first tensor needs them.
class Storages {
 public:
  /// `most_unpacked_bytes`: the limit for all unpacked bytes.
  Storages(FindRecord find, bool big_endian, std::uint64_t most_unpacked_bytes, NeedBytes need)
      : find_(std::move(find)),
        big_endian_(big_endian),
        unpacked_left_(most_unpacked_bytes),
        need_(std::move(need)) {}

  /// Returns the view of a tensor that is not skipped. `where` names the tensor. Throws
  /// Error(format) if the tensor exceeds its storage, or if the storage has the wrong length.
  TensorView view(const PickledTensor& tensor, const FileLocation& where);

  /// The unpacked bytes. They must be kept as long as the views.
  std::vector<std::shared_ptr<const std::vector<std::byte>>> memory() const;

 private:
  std::span<const std::byte> bytes_of(const PickledTensor& tensor, std::uint64_t element_bytes,
                                      const FileLocation& where);

  FindRecord find_;
  bool big_endian_;
  std::uint64_t unpacked_left_;
  NeedBytes need_;
  std::map<std::string, StorageRecord, std::less<>> records_;
  /// By key and by element size of the byte swap, because one storage may contain tensors of
  /// several dtypes.
  std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<std::vector<std::byte>>>
      unpacked_;
};

}  // namespace attnscope
