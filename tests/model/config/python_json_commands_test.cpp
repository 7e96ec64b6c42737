// Models whose JSON files contain Infinity and NaN, as Python's json module writes them.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

/// The object with `members` inserted before its first member.
std::string with_members(const std::string& object, const std::string& members) {
  return "{" + members + (object == "{}" ? "" : ",") + object.substr(1);
}

TEST(CliPythonJson, ModelsOpenAndGiveTheSameRows) {
  const TempFolder folder;
  const TinyLlama tiny = runnable_llama();
  const std::string plain = tiny.write(folder, "plain"), named = tiny.write(folder, "named");
  folder.write("named/config.json",
               with_members(tiny.config.dump(), R"("time_step_limit": [0.0, Infinity], "x": NaN)"));
  folder.write("named/generation_config.json", R"({"eos_token_id": 1, "top_p": -Infinity})");
  const auto frobenius_norm = [](const std::string& model) {
    return report_of({"spectrum", model, "--matrix", "q"})["rows"][0]["frobenius_norm"];
  };
  EXPECT_EQ(frobenius_norm(named), frobenius_norm(plain));
  const auto logit = [](const std::string& model) {
    return report_of({"predict", model, "--tokens", "1,2", "--generate", "2"})["rows"][0]["logit"];
  };
  EXPECT_EQ(logit(named), logit(plain));
}

TEST(CliPythonJson, RejectsNonFiniteSettings) {
  const TempFolder folder;
  const TinyLlama tiny = runnable_llama();
  const std::string model = tiny.write(folder, "model");
  folder.write("model/config.json",
               with_members(tiny.config.dump(), R"("rms_norm_eps": Infinity)"));
  expect_refusal({"spectrum", model}, kBadFile,
                 {"config.json", "'rms_norm_eps' is Infinity, expected"});
  folder.write("model/config.json", with_members(tiny.config.dump(), R"("x": infinity)"));
  expect_refusal({"spectrum", model}, kBadFile, {"config.json", "not JSON (at byte"});
}

}  // namespace
}  // namespace attnscope::test
