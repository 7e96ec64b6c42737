// ONNX models that onnx could not have written. Valid ones: tests/model/foreign.
#include "attnscope/checkpoint/onnx.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

FileContents parsed_onnx(const std::string& bytes) {
  return parse_onnx(std::as_bytes(std::span(bytes)), "model.onnx");
}

/// A field with bytes: lengths below 128 take one byte.
std::string onnx_field(int number, const std::string& bytes) {
  return std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) +
         bytes;
}

std::string onnx_number(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

/// A graph with one float initializer of shape (2, 3).
std::string onnx_model(const std::string& name, std::size_t bytes, const std::string& more = "") {
  const std::string tensor = onnx_number(1, 2) + onnx_number(1, 3) + onnx_number(2, 1) +
                             onnx_field(8, name) + onnx_field(9, std::string(bytes, '\0')) + more;
  const std::string node = onnx_field(1, "x") + onnx_field(1, name) + onnx_field(3, "/a/b/MatMul") +
                           onnx_field(4, "MatMul");
  return onnx_field(7, onnx_field(1, node) + onnx_field(5, tensor));
}

TEST(Onnx, NamesFoldedWeightsByTheirModule) {
  const FileContents folded = parsed_onnx(onnx_model("onnx::MatMul_1", 24));
  ASSERT_EQ(folded.tensors.size(), 1u);
  EXPECT_EQ(folded.tensors[0].name, "a.b.weight");
  EXPECT_EQ(folded.tensors[0].view.shape, (Shape{3, 2}));
  EXPECT_EQ(folded.tensors[0].view.strides, (Shape{1, 3}));
  EXPECT_EQ(parsed_onnx(onnx_model("kept", 24)).tensors[0].name, "kept");
}

TEST(Onnx, RefusesValuesThatDoNotFit) {
  EXPECT_THROW(parsed_onnx(onnx_model("w", 20)), Error);
  EXPECT_THROW(parsed_onnx(onnx_model("w", 24, onnx_number(1, 127))), Error);
  EXPECT_THROW(parsed_onnx(""), Error);
}

/// A float initializer `w` of shape (2, 3) in another file.
std::string external_model(const std::string& file, const std::string& offset,
                           const std::string& length) {
  const auto entry = [](const std::string& key, const std::string& value) {
    return onnx_field(13, onnx_field(1, key) + onnx_field(2, value));
  };
  return onnx_model("w", 0,
                    onnx_number(14, 1) + entry("location", file) + entry("offset", offset) +
                        (length.empty() ? "" : entry("length", length)));
}

TEST(Onnx, ReadsValuesOfAnotherFile) {
  const test::TempFolder temp;
  const std::vector<float> values = {9, 1, 2, 3, 4, 5, 6};
  temp.write("w.bin", std::string(reinterpret_cast<const char*>(values.data()), 28));
  for (const std::string length : {"24", ""}) {
    temp.write("model.onnx", external_model("w.bin", "4", length));
    const Checkpoint checkpoint = Checkpoint::open(temp.path() / "model.onnx");
    const CheckpointTensor* found = checkpoint.find("w");
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->view.shape, (Shape{2, 3}));
    std::vector<float> got(6);
    decode_elements(found->view, 0, 1, 6, got.data());
    EXPECT_EQ(got, std::vector<float>(values.begin() + 1, values.end()));
  }
}

TEST(Onnx, RefusesOtherFilesThatDoNotFit) {
  const test::TempFolder temp;
  temp.write("w.bin", std::string(28, '\0'));
  const struct {
    const char *file, *offset, *length, *said;
  } cases[] = {{"w.bin", "8", "24", "'w' is stored beyond the end of w.bin"},
               {"w.bin", "18446744073709551615", "24", "beyond the end of w.bin"},
               {"w.bin", "0", "20", "number of bytes does not match its shape"},
               {"w.bin", "-4", "24", "'-4' is not a number of bytes"},
               {"x.bin", "0", "24", "'w' is stored in x.bin, which is missing"},
               {"../w.bin", "0", "24", "'../w.bin', which is not a file of this folder"},
               {"/w.bin", "0", "24", "which is not a file of this folder"},
               {"..", "0", "24", "which is not a file of this folder"},
               {"", "0", "24", "which is not a file of this folder"}};
  for (const auto& [file, offset, length, said] : cases) {
    SCOPED_TRACE(said);
    temp.write("model.onnx", external_model(file, offset, length));
    try {
      Checkpoint::open(temp.path() / "model.onnx");
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
    }
  }
}

TEST(Onnx, LimitsAxes) {
  std::string sizes;
  for (int axis = 2; axis < 16; ++axis) sizes += onnx_number(1, 1);
  EXPECT_EQ(parsed_onnx(onnx_model("w", 24, sizes)).tensors[0].view.shape.size(), 16u);
  EXPECT_ERROR_SAYING(ErrorKind::format,
                      parsed_onnx(onnx_model("w", 24, sizes + onnx_number(1, 1))),
                      "a list has more than 16 numbers");
}

TEST(Onnx, EveryTruncationAndChangeIsReadOrRefused) {
  std::string bytes = onnx_model("onnx::MatMul_1", 24);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(parsed_onnx(bytes.substr(0, size)), Error) << size;
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
      try {
        parsed_onnx(bytes);
      } catch (const Error&) {
      }
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << bit);
    }
  }
}

}  // namespace
}  // namespace attnscope
