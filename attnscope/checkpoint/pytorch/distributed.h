// Distributed checkpoints of torch.distributed.checkpoint: a folder with a pickle, .metadata, which
// lists the chunks of each tensor in .distcp files. Each chunk is a file of torch.save. Source:
// pytorch/pytorch, torch/distributed/checkpoint/metadata.py and filesystem.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/file_formats.h"
#include "attnscope/checkpoint/mapped_file.h"
#include "attnscope/tensor/tensor_view.h"

namespace attnscope {

inline constexpr const char* kDistributedIndex = ".metadata";

struct DistributedChunk {
  std::string file;  // a plain name in the folder of the index
  std::uint64_t first = 0, bytes = 0;
  Shape offsets, sizes;  // of the chunk in the tensor
};

struct DistributedTensor {
  std::string name;
  Shape shape;
  std::vector<DistributedChunk> chunks;  // by offsets
};

/// Returns the tensors in the pickle, without those of optimizers. Throws Error(format).
std::vector<DistributedTensor> parse_distributed_index(std::span<const std::byte> pickle,
                                                       const FileLocation& where);

/// Returns the tensors, each in the contents of the file with its first chunk. `files`: all files
/// that the chunks name. Throws Error(format) if a chunk is not the expected tensor, and the errors
/// of joined_chunks(). Calls need() of the files for the bytes that it reads.
std::vector<FileContents> read_distributed(std::span<const DistributedTensor> tensors,
                                           std::span<const MappedFile> files,
                                           const FileLocation& index);

/// Joins the chunks of a tensor, which are split along one axis. `memory` keeps copied bytes.
/// Throws Error(format) if the chunks do not cover the tensor, and Error(unsupported) if several
/// axes are split.
TensorView joined_chunks(const DistributedTensor& tensor, std::vector<TensorView> chunks,
                         const FileLocation& where, FileContents& memory);

}  // namespace attnscope
