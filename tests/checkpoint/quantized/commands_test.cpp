// Commands print the same for quantized checkpoints as for a file of the dequantized values.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/program.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// A model of the same name, with the values that the quantization library decodes.
class Dequantized {
 public:
  explicit Dequantized(const std::string& name) : name_(name) {
    const fs::path from = data_path("quantized/" + name);
    json config = json::parse(read_file(from / "config.json"));
    config.erase("quantization_config");
    folder_.write(name + "/config.json", config.dump());
    folder_.write(name + "/model.safetensors", read_file(from / "dequantized.safetensors"));
  }

  std::string path() const { return (folder_.path() / name_).string(); }

 private:
  TempFolder folder_;
  std::string name_;
};

/// Models that can run a text. The others have only two projections.
const Words kWhole = {"awq", "fp8-blocks", "gptq-4", "int8", "nf4-nested", "packed-4"};

/// Compares the rows of both models, which must be equal.
void expect_equal_rows(const std::string& name, const std::string& command) {
  const Dequantized plain(name);
  EXPECT_EQ(report_of({command, data_path("quantized/" + name)})["rows"],
            report_of({command, plain.path()})["rows"])
      << name << ": " << command;
}

TEST(Quantized, RowsEqualThoseOfDequantizedValues) {
  for (const std::string& name : kWhole) {
    for (const char* command : {"spectrum", "weights", "circuits"})
      expect_equal_rows(name, command);
  }
  for (const char* name : {"float8-blocks", "fp4", "gptq-4-any-order", "packed-3-old"}) {
    expect_equal_rows(name, "weights");
  }
}

TEST(Quantized, ForwardPassesEqualThoseOfDequantizedValues) {
  for (const std::string& name : kWhole) {
    const Dequantized plain(name);
    const auto predicted = [&](const std::string& model) {
      json report = report_of({"predict", model, "--tokens", "1,5,9,3,7,2"});
      for (json& facts : report["models"]) {
        facts.erase("dtype");
        facts.erase("bytes");
      }
      return report;
    };
    EXPECT_EQ(predicted(data_path("quantized/" + name)), predicted(plain.path())) << name;
  }
}

TEST(Quantized, InfoNamesTheQuantizationOfEachTensor) {
  const std::string query = "model.layers.0.self_attn.q_proj.weight";
  const json report = report_of({"info", data_path("quantized/nf4-nested")});
  EXPECT_EQ(report["models"][0]["dtype"], "NF4, blocks of 64, nested scales");
  bool found = false;
  for (const json& row : report["rows"]) {
    EXPECT_FALSE(contains(row["name"].get<std::string>(), "absmax"));
    if (row["name"] != query) continue;
    found = true;
    EXPECT_EQ(row["dtype"], "NF4, blocks of 64, nested scales");
    EXPECT_EQ(row["shape"], json({64, 64}));
    EXPECT_EQ(row["role"], "q");
    // Codes, one scale byte per 64 values, both tables, one scale of scales, and the state.
    EXPECT_GT(row["bytes"], 64 * 64 / 2 + 64 + 4 * 16 + 4 * 256 + 4);
    EXPECT_LT(row["bytes"], 3500);
  }
  EXPECT_TRUE(found);
}

TEST(Quantized, ReportsErrorsInOneLine) {
  const TempFolder folder;
  TinyLlama model;
  model.config["quantization_config"] = {{"quant_method", "gptq"}, {"bits", 4}};
  model.attention(0, 'q') =
      zero_tensor("model.layers.0.self_attn.q_proj.qweight", "I32", 32, {2, 16});
  const std::string path = model.write(folder, "no scales");
  for (const char* command : {"info", "spectrum", "predict"}) {
    Words arguments = {command, path};
    if (arguments[0] == "predict") arguments = arguments + Words{"--tokens", "1"};
    expect_refusal(arguments, 4,
                   {"model.safetensors", "model.layers.0.self_attn.q_proj.qweight",
                    "has no matching 'model.layers.0.self_attn.q_proj.qzeros' in the checkpoint"});
  }
}

}  // namespace
}  // namespace attnscope::test
