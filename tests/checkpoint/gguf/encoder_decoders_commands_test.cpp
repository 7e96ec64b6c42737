// Commands give the same rows for GGUF files of encoder-decoders and for the safetensors files that
// they were converted from (tools/make_gguf_stack_files.py).
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

/// A model in both formats.
struct TwoForms {
  std::string gguf;
  TempFolder original;

  TwoForms(const std::string& name, const std::string& weights)
      : gguf(data_path("gguf-encoder-decoders/" + name + ".gguf")) {
    std::filesystem::create_symlink(data_path("encoder_decoders/" + weights + "/model.safetensors"),
                                    original.path() / "model.safetensors");
    std::filesystem::copy_file(data_path("gguf-encoder-decoders/" + name + ".json"),
                               original.path() / "config.json");
  }

  /// Output of a command for one format, without the model's name.
  static json message_of(const Words& command, const std::string& model) {
    Words words = command;
    words.insert(words.begin() + 1, model);
    json report = report_of(words + Words{"--quiet"});
    json out = {{"rows", report["rows"]}, {"generated", json::array()}};
    for (json& row : out["rows"]) row.erase("model");
    for (const json& facts : report["models"]) {
      if (facts.contains("generated")) out["generated"].push_back(facts["generated"]);
      out["stacks"].push_back(
          {facts["stack"], facts["layers"], facts["heads"], facts["hidden_size"]});
    }
    return out;
  }

  void expect_the_same(const Words& command) const {
    SCOPED_TRACE(command_text(command));
    const json ours = message_of(command, gguf),
               theirs = message_of(command, original.path().string());
    EXPECT_FALSE(theirs["rows"].empty());
    EXPECT_EQ(ours, theirs);
  }
};

TEST(CliGgufEncoderDecoders, GiveTheSameRowsInBothFormats) {
  const Words both = {"--tokens", "5,9,3,11,7", "--target-tokens", "0,4,8,15"};
  for (const std::string name : {"t5", "t5-gated", "umt5"}) {
    SCOPED_TRACE(name);
    const TwoForms forms(name, name);
    forms.expect_the_same({"spectrum", "--per-head"});
    forms.expect_the_same({"circuits"});
    forms.expect_the_same({"weights"});
    forms.expect_the_same(Words{"attention"} + both);
    forms.expect_the_same(Words{"predict"} + both);
    forms.expect_the_same({"predict", "--tokens", "5,9,3,11,7", "--generate", "6"});
  }
}

TEST(CliGgufEncoderDecoders, EncoderOnlyFileOpens) {
  const TwoForms forms("t5-encoder", "t5");
  const Words encoder = {"--stack", "encoder"};
  forms.expect_the_same(Words{"spectrum", "--per-head"} + encoder);
  forms.expect_the_same(Words{"attention", "--tokens", "5,9,3,11,7"} + encoder);
}

TEST(CliGgufEncoderDecoders, NotesMissingMetadata) {
  const RunResult run = run_attnscope({"info", data_path("gguf-encoder-decoders/t5.gguf")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "GGUF does not store the activation of the MLP")) << run.err;
}

}  // namespace
}  // namespace attnscope::test
