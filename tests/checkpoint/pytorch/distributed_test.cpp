// Distributed checkpoints that torch could not have written. Valid ones: tests/model/foreign.
#include "attnscope/checkpoint/pytorch/distributed.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

const fs::path kDistributedFolder =
    fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/foreign/distributed";

std::string distributed_index() {
  std::ifstream file(kDistributedFolder / ".metadata", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<DistributedTensor> parsed_index(const std::string& bytes) {
  return parse_distributed_index(std::as_bytes(std::span(bytes)), {".metadata"});
}

TEST(Distributed, ListsTheTensorsOfTheModel) {
  const std::vector<DistributedTensor> tensors = parsed_index(distributed_index());
  EXPECT_EQ(tensors.size(), 21u);  // and neither the step nor the optimizer's
  for (const DistributedTensor& tensor : tensors) {
    EXPECT_TRUE(tensor.name.starts_with("model.")) << tensor.name;
    EXPECT_EQ(tensor.chunks.size(), 2u) << tensor.name;
  }
}

TEST(Distributed, EveryTruncationAndChangeIsReadOrRefused) {
  std::string bytes = distributed_index();
  for (std::size_t size = 0; size < bytes.size(); size += 41) {
    EXPECT_THROW(parsed_index(bytes.substr(0, size)), Error) << size;
  }
  for (std::size_t at = 0; at < bytes.size(); at += 7) {
    const char kept = bytes[at];
    bytes[at] = static_cast<char>(~kept);
    try {
      parsed_index(bytes);
    } catch (const Error&) {
    }
    bytes[at] = kept;
  }
}

/// Two chunks of a (4, 6) matrix.
DistributedTensor two_chunks(Shape first, Shape second_at, Shape second) {
  return {.name = "w",
          .shape = {4, 6},
          .chunks = {{.offsets = {0, 0}, .sizes = std::move(first)},
                     {.offsets = std::move(second_at), .sizes = std::move(second)}}};
}

void expect_not_joined(const DistributedTensor& tensor, ErrorKind kind, const char* said) {
  FileContents memory;
  std::vector<TensorView> chunks;
  for (const DistributedChunk& chunk : tensor.chunks) {
    chunks.push_back({.dtype = DType::f32, .shape = chunk.sizes});
  }
  EXPECT_ERROR_SAYING(kind, joined_chunks(tensor, chunks, {".metadata"}, memory), said);
}

TEST(Distributed, RefusesChunksThatDoNotFit) {
  expect_not_joined(two_chunks({2, 6}, {3, 0}, {1, 6}), ErrorKind::format, "gaps or overlap");
  expect_not_joined(two_chunks({3, 6}, {2, 0}, {2, 6}), ErrorKind::format, "gaps or overlap");
  expect_not_joined(two_chunks({2, 6}, {2, 0}, {1, 6}), ErrorKind::format, "do not cover");
  expect_not_joined(two_chunks({2, 6}, {2, 0}, {3, 6}), ErrorKind::format, "do not cover");
  expect_not_joined(two_chunks({4, 3}, {0, 2}, {4, 4}), ErrorKind::format, "gaps or overlap");
  expect_not_joined(two_chunks({2, 3}, {2, 3}, {2, 3}), ErrorKind::unsupported, "several axes");
}

TEST(Distributed, RefusesMissingFiles) {
  const test::TempFolder folder;
  fs::copy(kDistributedFolder, folder.path(), fs::copy_options::recursive);
  fs::remove(folder.path() / "__1_0.distcp");
  EXPECT_ERROR_SAYING(ErrorKind::io, Checkpoint::open(folder.path()), "__1_0.distcp");
  folder.write("__1_0.distcp", "short");
  EXPECT_ERROR_SAYING(ErrorKind::format, Checkpoint::open(folder.path()), "after the end");
}

}  // namespace
}  // namespace attnscope
