// A header of 100,000 tensors. Parsing once took quadratic time, which exceeded the time limit of
// any test.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

TEST(CliManyTensors, OpenInLinearTime) {
  constexpr std::uint64_t kCount = 100'000, kBytes = 4;
  std::string header = "{";
  for (std::uint64_t at = 0; at < kCount; ++at) {
    header += (at == 0 ? "\"" : ",\"") + std::to_string(at) +
              R"(":{"dtype":"F32","shape":[1,1],"data_offsets":[)" + std::to_string(at * kBytes) +
              "," + std::to_string((at + 1) * kBytes) + "]}";
  }
  const TempFolder folder;
  const auto path =
      folder.write("many.safetensors", safetensors_with_header(header + "}", kCount * kBytes));
  const json row = report_of({"spectrum", path.string(), "--tensor", "99999"})["rows"][0];
  EXPECT_EQ(row["shape"], (json{1, 1}));
}

}  // namespace
}  // namespace attnscope::test
