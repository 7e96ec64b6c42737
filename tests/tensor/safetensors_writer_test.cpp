// Tensors that a command saves, read by the checkpoint reader.
#include "attnscope/tensor/safetensors_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "attnscope/checkpoint/safetensors.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

template <class T>
std::vector<T> elements(const TensorView& tensor) {
  std::vector<T> out(tensor.bytes.size() / sizeof(T));
  std::memcpy(out.data(), tensor.bytes.data(), tensor.bytes.size());
  return out;
}

TEST(SafetensorsWriter, RoundTrips) {
  std::ostringstream out;
  SafetensorsWriter file({{.name = "tokens", .type = DType::i64, .shape = {3}},
                          {.name = "none", .shape = {0, 4}},
                          {.name = "a \"quoted\" name", .shape = {2, 2}},
                          {.name = "scalar", .shape = {}}},
                         out);
  file.write(std::vector<std::int64_t>{5, -1, 7});
  file.write(std::vector<float>{1});
  file.write(std::vector<float>{2, 3, 4, 0.5});
  file.end();

  const std::string bytes = out.str();
  const auto tensors = parse_safetensors(std::as_bytes(std::span(bytes)), "saved").tensors;
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors[0].name, "tokens");
  EXPECT_EQ(elements<std::int64_t>(tensors[0].view), (std::vector<std::int64_t>{5, -1, 7}));
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == "none") {
      EXPECT_EQ(tensor.view.shape, (Shape{0, 4}));
    }
    if (tensor.name == "scalar") {
      EXPECT_EQ(elements<float>(tensor.view), std::vector<float>{0.5});
    }
    if (tensor.name.starts_with("a ")) {
      EXPECT_EQ(tensor.view.shape, (Shape{2, 2}));
      EXPECT_EQ(elements<float>(tensor.view), (std::vector<float>{1, 2, 3, 4}));
    }
  }
}

TEST(SafetensorsWriter, AlignsDataToEightBytes) {
  for (const std::size_t letters : {1, 2, 3, 4, 5, 6, 7, 8}) {
    std::ostringstream out;
    SafetensorsWriter file({{.name = std::string(letters, 'a'), .shape = {1}}}, out);
    EXPECT_EQ(out.str().size() % 8, 0u) << letters;
  }
}

TEST(SafetensorsWriter, WritesExactlyTheDeclaredBytes) {
  std::ostringstream out;
  SafetensorsWriter file({{.name = "a", .shape = {2}}}, out);
  EXPECT_THROW(file.write(std::vector<std::int64_t>{1}), std::logic_error);
  EXPECT_THROW(file.end(), std::logic_error);
  file.write(std::vector<float>{1, 2});
  file.end();
  EXPECT_THROW(file.write(std::vector<float>{3}), std::logic_error);
}

TEST(SafetensorsWriter, RejectsImpossibleSizes) {
  std::ostringstream out;
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  EXPECT_ERROR_SAYING(ErrorKind::unsupported,
                      SafetensorsWriter({{.name = "maps", .shape = {kHuge, kHuge}}}, out),
                      "maps: is too large for a safetensors file");
}

}  // namespace
}  // namespace attnscope::test
