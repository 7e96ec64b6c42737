// Every checkpoint under tests/data/quantized, compared with the values that the quantization
// library decodes. Both were written by tools/make_quantized_files.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/checkpoint/remote_bytes.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path data_folder() { return fs::path(ATTNSCOPE_SOURCE_DIR) / "tests/data/quantized"; }

std::vector<fs::path> cases() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(data_folder())) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  return folders;
}

Checkpoint open_composed(const fs::path& folder) {
  std::ifstream file(folder / "config.json");
  const json quantization = json::parse(file)["quantization_config"];
  Checkpoint checkpoint = Checkpoint::open(folder / "model.safetensors");
  checkpoint.compose_quantized(quantization["quant_method"].get<std::string>(), quantization.dump(),
                               "config.json");
  return checkpoint;
}

std::vector<float> all_values(const TensorView& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.element_count()));
  decode_elements(tensor, 0, 1, std::ssize(values), values.data());
  return values;
}

/// Same bit pattern, or both NaN.
bool is_same(float got, float wanted) {
  return std::isnan(wanted)
             ? std::isnan(got)
             : std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(wanted);
}

void expect_values(const TensorView& got, const TensorView& wanted, const std::string& what) {
  EXPECT_EQ(got.shape, wanted.shape) << what;
  EXPECT_EQ(dtype_name(got.dtype), dtype_name(wanted.dtype)) << what;
  if (got.shape != wanted.shape) return;
  const std::vector<float> expected = all_values(wanted);
  Matrix<float> whole(got.rows(), got.cols());
  got.source->decode(0, 0, whole.view());
  for (std::size_t at = 0; at < expected.size(); ++at) {
    ASSERT_TRUE(is_same(whole.data()[at], expected[at]))
        << what << ", element " << at << ": " << whole.data()[at] << ", not " << expected[at];
  }
  // Decoding any block gives the same values as decoding the whole matrix.
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>(1, 1), {3, 17}, {7, 33}}) {
    for (std::int64_t row = 0; row + rows <= got.rows(); row += 11) {
      for (std::int64_t col = 0; col + cols <= got.cols(); col += 13) {
        Matrix<float> block(rows, cols);
        got.source->decode(row, col, block.view());
        for (std::int64_t at = 0; at < rows * cols; ++at) {
          ASSERT_TRUE(is_same(block.data()[at], whole(row + at / cols, col + at % cols)))
              << what << ", block at " << row << ", " << col;
        }
      }
    }
  }
}

void expect_reads(const Checkpoint& checkpoint, const TensorView& tensor, const std::string& what) {
  const auto file = checkpoint.files()[0].bytes();
  std::size_t total = 0;
  for (const auto part : tensor.source->reads(0, tensor.rows(), 0, tensor.cols())) {
    EXPECT_GE(part.data(), file.data()) << what;
    EXPECT_LE(part.data() + part.size(), file.data() + file.size()) << what;
    total += part.size();
  }
  EXPECT_LT(total, 4 * static_cast<std::size_t>(tensor.element_count())) << what;
  for (const auto part : tensor.source->reads(1, 1, 0, tensor.cols())) {
    EXPECT_GE(part.data(), file.data()) << what;
    EXPECT_LE(part.data() + part.size(), file.data() + file.size()) << what;
  }
}

TEST(QuantizedGolden, ValuesEqualThoseOfTheLibraries) {
  const std::vector<fs::path> folders = cases();
  EXPECT_EQ(folders.size(), 30u);
  for (const fs::path& folder : folders) {
    const Checkpoint quantized = open_composed(folder);
    const Checkpoint values = Checkpoint::open(folder / "dequantized.safetensors");
    // Every stored tensor belongs to a weight, and no weight is missing.
    EXPECT_EQ(quantized.tensors().size(), values.tensors().size()) << folder;
    std::size_t composed = 0;
    for (const CheckpointTensor& wanted : values.tensors()) {
      const std::string what = folder.filename().string() + ": " + wanted.name;
      const CheckpointTensor* got = quantized.find(wanted.name);
      ASSERT_NE(got, nullptr) << what;
      if (got->view.source == nullptr) continue;
      ++composed;
      expect_values(got->view, wanted.view, what);
      expect_reads(quantized, got->view, what);
    }
    EXPECT_GT(composed, 0u) << folder;
  }
}

/// Returns the requested ranges of a file.
class PartsSource : public RangeSource {
 public:
  explicit PartsSource(fs::path path) : file_(path) {}
  void read(std::uint64_t offset, std::span<std::byte> out) override {
    std::copy_n(file_.bytes().begin() + static_cast<std::ptrdiff_t>(offset), out.size(),
                out.begin());
  }

 private:
  MappedFile file_;
};

/// A checkpoint with a remote file, whose bytes stay zero until they are requested.
Checkpoint open_elsewhere(const fs::path& folder) {
  const fs::path path = folder / "model.safetensors";
  RemoteFile file{"model.safetensors", "far@1/model.safetensors", fs::file_size(path),
                  std::make_shared<PartsSource>(path), std::make_shared<Fetcher>()};
  std::ifstream config(folder / "config.json");
  const json quantization = json::parse(config)["quantization_config"];
  Checkpoint checkpoint = Checkpoint::open(
      CheckpointFolder(fs::temp_directory_path(), {std::move(file)}), "model.safetensors");
  checkpoint.compose_quantized(quantization["quant_method"].get<std::string>(), quantization.dump(),
                               "config.json");
  return checkpoint;
}

TEST(QuantizedGolden, ReadsOnlyTheBytesOfTheRequestedOutputs) {
  for (const char* name : {"awq", "gptq-2", "gptq-3", "gptq-4", "gptq-4-any-order", "gptq-8"}) {
    const Checkpoint here = open_composed(data_folder() / name);
    for (const CheckpointTensor& tensor : here.tensors()) {
      if (tensor.view.source == nullptr) continue;
      const std::int64_t rows = tensor.view.rows(), cols = tensor.view.cols();
      for (const auto& [first, count] :
           {std::pair<std::int64_t, std::int64_t>(0, rows / 2), {rows / 2 + 1, 3}, {rows - 1, 1}}) {
        const Checkpoint elsewhere = open_elsewhere(data_folder() / name);
        const ValueSource& source = *elsewhere.find(tensor.name)->view.source;
        std::size_t taken = 0, whole = 0;
        for (const auto part : source.reads(first, count, 0, cols)) {
          for (const MappedFile& file : elsewhere.files()) file.need(part);
          taken += part.size();
        }
        for (const auto part : source.reads(0, rows, 0, cols)) whole += part.size();
        EXPECT_LT(taken, whole) << name;
        Matrix<float> got(count, cols), wanted(count, cols);
        source.decode(first, 0, got.view());
        tensor.view.source->decode(first, 0, wanted.view());
        for (std::int64_t at = 0; at < count * cols; ++at) {
          ASSERT_TRUE(is_same(got.data()[at], wanted.data()[at]))
              << name << ": " << tensor.name << ", rows from " << first;
        }
      }
    }
  }
}

TEST(QuantizedGolden, StorageNameDescribesTheQuantization) {
  const struct {
    const char* folder;
    const char* words;
  } storages[] = {
      {"awq", "AWQ 4-bit, groups of 32"},
      {"float8-blocks", "F8_E4M3, scales of 16 x 32"},
      {"fp4", "FP4, blocks of 64"},
      {"fp8-one-scale", "F8_E4M3, one scale"},
      {"fp8-rows", "F8_E4M3, one scale per row"},
      {"gptq-3", "GPTQ 3-bit, groups of 32"},
      {"gptq-4-v2", "GPTQ v2 4-bit, groups of 24"},
      {"int8", "INT8, one scale per row"},
      {"int8-rows", "I8, one scale per row, asymmetric"},
      {"nf4-nested", "NF4, blocks of 64, nested scales"},
      {"packed-4", "compressed-tensors 4-bit, groups of 32, asymmetric"},
  };
  for (const auto& [folder, words] : storages) {
    const Checkpoint checkpoint = open_composed(data_folder() / folder);
    const CheckpointTensor* query = checkpoint.find("model.layers.0.self_attn.q_proj.weight");
    ASSERT_NE(query, nullptr) << folder;
    EXPECT_EQ(query->view.storage_name(), words);
    EXPECT_TRUE(query->is_linear);
  }
}

}  // namespace
}  // namespace attnscope
