// Weights that lack a part, and checkpoints that lack the quantization config.
#include <gtest/gtest.h>

#include "tests/checkpoint/quantized/samples.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

// A single shard of a checkpoint can be analyzed.
TEST(QuantizedMalformed, SkipsAWeightWithAPartInAMissingShard) {
  const TempFolder folder;
  QuantizedSample two = gptq();
  for (TensorToWrite tensor : gptq().tensors) {
    tensor.name[0] = 'b';
    two.tensors.push_back(tensor);
  }
  folder.write("one.safetensors", safetensors_bytes(two.without("b.scales").tensors));
  folder.write("model.safetensors.index.json",
               R"({"weight_map": {"a.qweight": "one.safetensors", "a.qzeros": "one.safetensors",
                   "a.scales": "one.safetensors", "b.qweight": "one.safetensors",
                   "b.qzeros": "one.safetensors", "b.scales": "two.safetensors"}})");
  Checkpoint checkpoint = Checkpoint::open(folder.path());
  checkpoint.compose_quantized("gptq", two.config.dump(), "config.json");
  EXPECT_NE(checkpoint.find("a.weight"), nullptr);
  EXPECT_EQ(checkpoint.find("b.weight"), nullptr);
  EXPECT_EQ(checkpoint.find("b.qweight"), nullptr);
}

TEST(QuantizedMalformed, InfersTheMethodWithoutAConfig) {
  for (const QuantizedSample& sample : {fp8(), four_bits(), int8(), mxfp4()}) {
    const TempFolder folder;
    Checkpoint checkpoint =
        Checkpoint::open(folder.write("model.safetensors", safetensors_bytes(sample.tensors)));
    if (sample.config["quant_method"] == "fp8") {  // default block size: 128 x 128
      EXPECT_ERROR_SAYING(ErrorKind::format, checkpoint.compose_quantized("", "", "config.json"),
                          "[2, 2], expected [1, 1]");
      continue;
    }
    checkpoint.compose_quantized("", "", "config.json");
    ASSERT_EQ(checkpoint.tensors().size(), 1u) << sample.config;
    EXPECT_NE(checkpoint.tensors()[0].view.source, nullptr);
  }
}

}  // namespace
}  // namespace attnscope::test
