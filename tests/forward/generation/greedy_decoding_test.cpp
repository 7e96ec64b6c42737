// The end tokens of generated text, from the files of a checkpoint and from its tokenizer.
#include "attnscope/forward/generation/greedy_decoding.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnscope/checkpoint/mapped_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace attnscope {
namespace {

using EndIds = std::vector<std::int64_t>;

/// A model whose end tokens are set by the files that a test writes.
class EndTokens : public testing::Test {
 protected:
  EndTokens() {
    std::filesystem::copy_file(data_ / "data/forward/gpt2/model.safetensors",
                               folder_.path() / "model.safetensors");
    set_config(nullptr);
  }

  /// `ends` is the eos_token_id of config.json.
  void set_config(const nlohmann::json& ends) {
    auto config =
        nlohmann::json::parse(read_text_file(data_ / "data/forward/gpt2/config.json", 100'000));
    config["eos_token_id"] = ends;
    folder_.write("config.json", config.dump());
  }

  EndIds ends(const Tokenizer* tokenizer = nullptr) const {
    return end_tokens(Model::open(folder_.path()), tokenizer);
  }

  const std::filesystem::path data_ = std::filesystem::path(ATTNSCOPE_SOURCE_DIR) / "tests";
  const test::TempFolder folder_;
};

TEST_F(EndTokens, ComeFromTheFirstFileThatNamesThem) {
  const Tokenizer tokenizer = Tokenizer::open(data_ / "inputs/text/tokenizers/gpt2");
  ASSERT_TRUE(tokenizer.special_tokens().end);
  EXPECT_EQ(ends(), EndIds{});
  EXPECT_EQ(ends(&tokenizer), EndIds{*tokenizer.special_tokens().end});
  set_config(7);
  EXPECT_EQ(ends(&tokenizer), EndIds{7});
  folder_.write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(ends(), EndIds{7});
  folder_.write("generation_config.json", R"({"eos_token_id": [1, 106]})");
  EXPECT_EQ(ends(), (EndIds{1, 106}));
}

TEST_F(EndTokens, AreReadFromANestedTextConfig) {
  folder_.write("generation_config.json", R"({"text_config": {"eos_token_id": 3}})");
  EXPECT_EQ(ends(), EndIds{3});
}

TEST_F(EndTokens, RejectOtherTypes) {
  for (const char* wrong : {R"("2")", "2.5", "[1, null]", "true", "{}", "-1"}) {
    SCOPED_TRACE(wrong);
    folder_.write("generation_config.json", R"({"eos_token_id": )" + std::string(wrong) + "}");
    EXPECT_ERROR_SAYING(ErrorKind::format, ends(), "'eos_token_id' is not a token id");
  }
}

}  // namespace
}  // namespace attnscope
