// Archives of NumPy arrays that numpy.savez could not have written. Valid ones:
// tests/model/foreign.
#include "attnscope/checkpoint/npz.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "attnscope/base/error.h"

namespace attnscope {
namespace {

std::string npz_file() {
  std::ifstream file(
      std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/foreign/npz-compressed/weights.npz",
      std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

FileContents parsed_npz(const std::string& bytes) {
  return parse_npz(std::as_bytes(std::span(bytes)), "weights.npz");
}

TEST(Npz, ReadsBothOrders) {
  const FileContents contents = parsed_npz(npz_file());
  std::size_t by_columns = 0;
  for (const NamedTensor& tensor : contents.tensors) by_columns += tensor.view.strides.size() / 2;
  EXPECT_GT(by_columns, 0u);
  EXPECT_LT(by_columns, contents.tensors.size());
}

TEST(Npz, EveryTruncationIsRefused) {
  const std::string whole = npz_file();
  ASSERT_GT(whole.size(), 1000u);
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    EXPECT_THROW(parsed_npz(whole.substr(0, size)), Error) << size;
  }
}

TEST(Npz, EveryChangedByteIsReadOrRefused) {
  std::string bytes = npz_file();
  for (std::size_t at = 0; at < bytes.size(); at += 31) {
    const char kept = bytes[at];
    bytes[at] = static_cast<char>(~kept);
    try {
      parsed_npz(bytes);
    } catch (const Error&) {
    }
    bytes[at] = kept;
  }
}

}  // namespace
}  // namespace attnscope
