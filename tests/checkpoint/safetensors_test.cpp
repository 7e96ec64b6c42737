#include "attnscope/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/support/expect_error.h"
#include "tests/support/repeated_text.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using test::header_length_bytes;
using test::repeated;
using test::safetensors_with_header;

std::span<const std::byte> safetensors_bytes(const std::string& file) {
  return std::as_bytes(std::span(file));
}

/// Files whose header cannot be located.
TEST(Safetensors, RejectsMalformedLengths) {
  const std::string audio = safetensors_with_header("{}", 0);
  const struct {
    std::string_view fault;
    std::string file;
    std::string_view said;
  } files[] = {
      {"empty file", "", "the file is empty"},
      {"three bytes", "\x01\x02\x03", "too short for a safetensors file (3 bytes)"},
      {"seven bytes", audio.substr(0, 7), "too short"},
      {"only a length", header_length_bytes(2), "reaches past the end of the file"},
      {"header cut by one byte", audio.substr(0, audio.size() - 1), "reaches past the end"},
      {"length just over the limit", header_length_bytes(100'000'001) + "{}", "exceeds the limit"},
      {"length at the limit, past the file", header_length_bytes(100'000'000) + "{}",
       "reaches past the end"},
      {"length of all ones: 8 + length wraps", header_length_bytes(UINT64_MAX) + "{}",
       "exceeds the limit"},
      {"length zero", header_length_bytes(0) + "{}", "does not start with '{'"},
      {"GGUF", "GGUF\x03" + std::string(60, '\0'), "exceeds the limit"},
      {"a pickle in a zip", "PK\x03\x04" + std::string(60, 'x'), "exceeds the limit"},
      {"an HTML page", "<!DOCTYPE html><html></html>", "exceeds the limit"},
  };
  const test::TempFolder folder;
  for (const auto& [fault, file, said] : files) {
    SCOPED_TRACE(fault);
    const auto path = folder.write("model.safetensors", file);
    EXPECT_ERROR_SAYING(ErrorKind::format, Checkpoint::open(path), path.string(), said);
  }
}

/// Headers that declare more than the four bytes of payload, or nothing readable.
TEST(Safetensors, RejectsMalformedHeaders) {
  const std::string deep = R"({"t":)" + repeated("[", 10'000);
  const std::string dimensions =
      R"({"t":{"dtype":"F32","shape":[)" + repeated("1,", 16) + R"(1],"data_offsets":[0,4]}})";
  const struct {
    std::string_view fault, header, said;
  } headers[] = {
      {"not JSON", R"({"t":)", "not JSON"},
      {"not an object", R"([])", "does not start with '{'"},
      {"spaces before the object", R"( {})", "does not start with '{'"},
      {"byte order mark", "\xEF\xBB\xBF{}", "does not start with '{'"},
      {"two objects", R"({}{})", "not JSON"},
      {"padded with NULs", std::string_view("{}\0\0", 4), "not JSON"},
      {"invalid UTF-8 in a name",
       "{\"\xFF\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "not JSON"},
      {"NUL in a name",
       std::string_view("{\"a\0b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 54),
       "not JSON"},
      {"nested without end", deep, "nested deeper than 64"},
      {"two tensors of one name",
       R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
       R"("t":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "duplicate key 't'"},
      {"two dtypes", R"({"t":{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}})",
       "duplicate key 'dtype'"},
      {"two metadata", R"({"__metadata__":{},"__metadata__":{}})", "duplicate key '__metadata__'"},

      {"tensor is no object", R"({"t":[0,4]})", "tensor 't': its header entry is not an object"},
      {"tensor is null", R"({"t":null})", "its header entry is not an object"},
      {"no dtype", R"({"t":{"shape":[1],"data_offsets":[0,4]}})", "has no 'dtype'"},
      {"no shape", R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", "has no 'shape'"},
      {"no data_offsets", R"({"t":{"dtype":"F32","shape":[1]}})", "has no 'data_offsets'"},
      {"dtype is a number", R"({"t":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})",
       "'dtype' is not a string"},
      {"unknown dtype", R"({"t":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}})",
       "unknown dtype 'F33'"},
      {"dtype in small letters", R"({"t":{"dtype":"f32","shape":[1],"data_offsets":[0,4]}})",
       "unknown dtype 'f32'"},
      {"shape is a number", R"({"t":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})",
       "'shape' is not an array"},
      {"shape holds a string", R"({"t":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})",
       "'shape' contains a value that is not a size"},
      {"shape is negative", R"({"t":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
       "'shape' contains a value that is not a size"},
      {"shape is minus zero", R"({"t":{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}})",
       "'shape' contains a value that is not a size"},
      {"shape is a float", R"({"t":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})",
       "'shape' contains a value that is not a size"},
      {"shape is past int64",
       R"({"t":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4]}})",
       "'shape' contains a value that is not a size"},
      {"shape is past uint64",
       R"({"t":{"dtype":"F32","shape":[18446744073709551617],"data_offsets":[0,4]}})",
       "'shape' contains a value that is not a size"},
      {"seventeen dimensions", dimensions, "more than 16 dimensions"},
      // 4 bytes * (2^62 + 1) is 4 modulo 2^64, so the wrapped size seems to fit.
      {"byte count wraps",
       R"({"t":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", "overflows"},
      // 2^32 * 2^32 elements are 0 modulo 2^64.
      {"element count wraps",
       R"({"t":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "overflows"},
      {"half a byte", R"({"t":{"dtype":"F4","shape":[7],"data_offsets":[0,4]}})",
       "does not fill whole bytes"},
      {"three quarters of a byte", R"({"t":{"dtype":"F6_E2M3","shape":[5],"data_offsets":[0,4]}})",
       "does not fill whole bytes"},

      {"offsets are a number", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":4}})",
       "'data_offsets' is not a pair of sizes"},
      {"one offset", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4]}})",
       "'data_offsets' is not a pair of sizes"},
      {"three offsets", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})",
       "'data_offsets' is not a pair of sizes"},
      {"negative offset", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})",
       "'data_offsets' is not a pair of sizes"},
      {"fractional offset", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4.0]}})",
       "'data_offsets' is not a pair of sizes"},
      {"offset past float64", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,1e999]}})",
       "number out of range"},
      {"backwards", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "are reversed"},
      {"fewer bytes than the shape needs",
       R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
       "shape [2] of F32 requires 8 bytes, but its offsets span 4"},
      {"more bytes than the shape needs",
       R"({"t":{"dtype":"F16","shape":[1],"data_offsets":[0,4]}})",
       "shape [1] of F16 requires 2 bytes, but its offsets span 4"},
      {"bytes for an empty tensor", R"({"t":{"dtype":"F32","shape":[0],"data_offsets":[0,4]}})",
       "requires 0 bytes"},

      {"ends past the file", R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "past the end of the file (4 bytes of data"},
      {"lies past the file", R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[400,404]}})",
       "past the end of the file"},
      {"offsets at the end of uint64",
       R"({"t":{"dtype":"F32","shape":[1],)"
       R"("data_offsets":[18446744073709551611,18446744073709551615]}})",
       "past the end of the file"},
      {"two tensors share bytes",
       R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "tensor 'b': its bytes overlap"},
      {"two tensors on the same bytes",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "tensor 'b': its bytes overlap"},
      {"empty tensor inside another",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
       R"("b":{"dtype":"F32","shape":[0],"data_offsets":[2,2]}})",
       "tensor 'b': its bytes overlap"},
      {"hole at the start", R"({"t":{"dtype":"F16","shape":[1],"data_offsets":[2,4]}})",
       "gap in the file before"},
      {"hole between tensors",
       R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
       R"("b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
       "tensor 'b': there is a gap"},
      {"bytes left at the end", R"({"t":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})",
       "2 bytes at the end belong to no tensor"},
      {"bytes without tensors", R"({})", "4 bytes at the end belong to no tensor"},

      {"metadata is a string", R"({"__metadata__":"pt"})", "'__metadata__' is not an object"},
      {"metadata is null", R"({"__metadata__":null})", "'__metadata__' is not an object"},
      {"metadata holds a number", R"({"__metadata__":{"format":1}})",
       "'__metadata__' contains a value that is not a string"},
      {"control bytes in a name", R"({"a\u001b[31m\nb":{}})", "tensor 'a\\x1b[31m\\x0ab'"},
      {"control bytes in a dtype",
       R"({"t":{"dtype":"F\u0007\r\n32","shape":[1],"data_offsets":[0,4]}})",
       "unknown dtype 'F\\x07\\x0d\\x0a32'"},
  };
  const test::TempFolder folder;
  for (const auto& [fault, header, said] : headers) {
    SCOPED_TRACE(fault);
    const auto path =
        folder.write("model.safetensors", safetensors_with_header(header, /*payload_bytes=*/4));
    EXPECT_ERROR_SAYING(ErrorKind::format, Checkpoint::open(path), path.string(), said);
  }
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirOffsets) {
  const std::string file = test::safetensors_bytes(
      {test::counting_tensor("z", {2, 3}), test::counting_tensor("a", {4})}, {{"format", "pt"}});
  const FileContents parsed = parse_safetensors(safetensors_bytes(file), "file");
  ASSERT_EQ(parsed.tensors.size(), 2u);
  EXPECT_EQ(parsed.tensors[0].name, "z");
  EXPECT_EQ(parsed.tensors[0].view.dtype, DType::f32);
  EXPECT_EQ(parsed.tensors[0].view.shape, (Shape{2, 3}));
  EXPECT_EQ(parsed.tensors[0].view.bytes.size(), 24u);
  EXPECT_EQ(parsed.tensors[1].name, "a");
  EXPECT_EQ(parsed.tensors[1].view.bytes.data(), safetensors_bytes(file).data() + file.size() - 16);
  EXPECT_EQ(parsed.metadata, (std::map<std::string, std::string>{{"format", "pt"}}));
}

TEST(Safetensors, ReadsEveryDType) {
  std::vector<test::TensorToWrite> tensors;
  for (const DTypeInfo& info : all_dtypes()) {
    const std::string name(info.name);
    tensors.push_back(test::zero_tensor(name, name, info.bits, {4, 2}));
  }
  const std::string file = test::safetensors_bytes(tensors);
  const FileContents parsed = parse_safetensors(safetensors_bytes(file), "file");
  ASSERT_EQ(parsed.tensors.size(), all_dtypes().size());
  for (const NamedTensor& tensor : parsed.tensors) {
    EXPECT_EQ(tensor.name, dtype_name(tensor.view.dtype));
    EXPECT_EQ(tensor.view.bytes.size(),
              static_cast<std::size_t>(dtype_info(tensor.view.dtype).bits));
  }
}

TEST(Safetensors, ReadsScalarsEmptyTensorsAndEmptyFiles) {
  EXPECT_TRUE(parse_safetensors(safetensors_bytes(safetensors_with_header("{}", 0)), "file")
                  .tensors.empty());
  // The format pads its header with spaces.
  EXPECT_NO_THROW(
      parse_safetensors(safetensors_bytes(safetensors_with_header("{}      ", 0)), "file"));

  const std::string file = test::safetensors_bytes(
      {test::counting_tensor("scalar", {}), test::counting_tensor("between", {0, 3}),
       test::counting_tensor("vector", {2}), test::counting_tensor("last", {5, 0})});
  const FileContents parsed = parse_safetensors(safetensors_bytes(file), "file");
  ASSERT_EQ(parsed.tensors.size(), 4u);
  EXPECT_EQ(parsed.tensors[0].name, "scalar");
  EXPECT_EQ(parsed.tensors[0].view.element_count(), 1);
  EXPECT_EQ(parsed.tensors[1].name, "between");
  EXPECT_TRUE(parsed.tensors[1].view.bytes.empty());
  EXPECT_EQ(parsed.tensors[3].name, "last");
}

// An empty tensor has zero elements, so its other sizes must not be multiplied.
TEST(Safetensors, ReadsEmptyTensorsWithHugeOtherSizes) {
  for (const char* shape : {"[0,9223372036854775807,9223372036854775807]",
                            "[9223372036854775807,9223372036854775807,0]"}) {
    const std::string file = safetensors_with_header(
        std::string(R"({"t":{"dtype":"F64","shape":)") + shape + R"(,"data_offsets":[0,0]}})", 0);
    const FileContents parsed = parse_safetensors(safetensors_bytes(file), "file");
    ASSERT_EQ(parsed.tensors.size(), 1u);
    EXPECT_EQ(parsed.tensors[0].view.element_count(), 0);
  }
}

}  // namespace
}  // namespace attnscope
