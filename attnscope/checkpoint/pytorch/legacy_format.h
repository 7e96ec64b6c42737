// The stream that torch.save wrote before version 1.6: several pickles, followed by storages.
// Source: pytorch/pytorch, torch/serialization.py, _legacy_save.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "attnscope/checkpoint/pytorch/pickle.h"
#include "attnscope/checkpoint/pytorch/storages.h"

namespace attnscope {

/// Whether the bytes begin like such a stream, in any pickle protocol.
bool starts_legacy_stream(std::span<const std::byte> start);

struct LegacyStream {
  Pickle pickle;
  std::map<std::string, StorageRecord, std::less<>> storages;  // by key
  bool big_endian = false;
};

/// Throws Error(format) if the stream is damaged, or if further bytes follow it.
LegacyStream read_legacy_stream(std::span<const std::byte> bytes, const std::string& file,
                                const NeedBytes& need = {});

}  // namespace attnscope
