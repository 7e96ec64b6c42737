#include "attnscope/tokens/tokenizer_config.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using Ids = std::vector<std::int64_t>;

TEST(EndIds, ComeFromTheFirstFileThatSays) {
  const test::TempFolder folder;
  EXPECT_EQ(end_ids(folder.path(), {}), Ids{});
  EXPECT_EQ(end_ids(folder.path(), {.end = 5}), Ids{5});
  folder.write("config.json", R"({"eos_token_id": 7})");
  EXPECT_EQ(end_ids(folder.path(), {.end = 5}), Ids{7});
  folder.write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(end_ids(folder.path(), {}), Ids{7});
  folder.write("generation_config.json", R"({"eos_token_id": [1, 106]})");
  EXPECT_EQ(end_ids(folder.path(), {}), (Ids{1, 106}));
}

TEST(EndIds, OfAnotherTypeAreAnError) {
  const test::TempFolder folder;
  for (const char* wrong : {R"("2")", "2.5", "[1, null]", "true", "{}"}) {
    SCOPED_TRACE(wrong);
    folder.write("config.json", R"({"eos_token_id": )" + std::string(wrong) + "}");
    EXPECT_ERROR_SAYING(ErrorKind::format, end_ids(folder.path(), {}),
                        "config.json: 'eos_token_id' is neither");
  }
}

}  // namespace
}  // namespace attnscope
