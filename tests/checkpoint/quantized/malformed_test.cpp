// Weights whose parts contradict each other. Each is rejected with one line that names the file,
// the tensor and the error.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "attnscope/tensor/tensor_matrix.h"
#include "tests/checkpoint/quantized/samples.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

TEST(QuantizedMalformed, UnchangedSamplesAreValid) {
  for (const QuantizedSample& sample :
       {fp8(), gptq(), awq(), bitnet(), four_bits(), nested(), int8(), packed(), mxfp4()}) {
    const TempFolder folder;
    const Checkpoint checkpoint = open_malformed(sample, folder);
    ASSERT_EQ(checkpoint.tensors().size(), 1u) << sample.config;
    EXPECT_NE(checkpoint.tensors()[0].view.source, nullptr);
  }
}

TEST(QuantizedMalformed, RejectsEachWithOneLine) {
  const struct {
    const char* fault;
    QuantizedSample sample;
    const char* place;  // the tensor, or the part of the file
    const char* said;
  } faults[] = {
      {"scales of another grid", fp8().with_tensor(zeros("a.weight_scale_inv", "F32", {2, 3})),
       "a.weight_scale_inv", "shape [2, 3], expected [2, 2]"},
      {"integer scales", fp8().with_tensor(zeros("a.weight_scale_inv", "I32", {2, 2})),
       "a.weight_scale_inv", "dtype I32, expected F32"},
      {"a weight of three axes", fp8().with_tensor(zeros("a.weight", "F8_E4M3", {2, 4, 6})),
       "a.weight", "expected 2 axes"},
      {"an empty weight", fp8().with_tensor(zeros("a.weight", "F8_E4M3", {0, 6})), "a.weight",
       "with elements"},
      {"a block of no rows", fp8().with("weight_block_size", {0, 4}), "quantization_config",
       "'weight_block_size' is not a pair of sizes"},
      {"a block of one size", fp8().with("weight_block_size", {128}), "quantization_config",
       "'weight_block_size'"},

      {"no scale", bitnet().without("a.weight_scale"), "a.weight", "has no matching"},
      {"several scales", bitnet().with_tensor(zeros("a.weight_scale", "BF16", {2})),
       "a.weight_scale", "shape [2], expected [1]"},
      {"packed numbers of three axes", bitnet().with_tensor(zeros("a.weight", "U8", {2, 2, 3})),
       "a.weight", "expected 2 axes"},
      {"layers of another class", bitnet().with("linear_class", "linear"), "quantization_config",
       "'linear_class' is 'linear', expected bitlinear or autobitlinear"},

      {"no scales", gptq().without("a.scales"), "a.qweight",
       "has no matching 'a.scales' in the checkpoint"},
      {"no zero points", gptq().without("a.qzeros"), "a.qweight", "has no matching 'a.qzeros'"},
      {"words of bytes", gptq().with_tensor(zeros("a.qweight", "I8", {2, 8})), "a.qweight",
       "dtype I8, expected I32"},
      {"zero points of no width", gptq().with_tensor(zeros("a.qzeros", "I32", {2, 3})), "a.qzeros",
       "not packed with 2, 3, 4 or 8 bits"},
      {"bits that the configuration denies", gptq().with("bits", 8), "a.qzeros",
       "4 bits, but the configuration specifies 8"},
      {"more groups of zero points", gptq().with_tensor(zeros("a.qzeros", "I32", {3, 1})),
       "a.qzeros", "shape [3, 1], expected [2, 1]"},
      {"scales of fewer outputs", gptq().with_tensor(zeros("a.scales", "F16", {2, 4})), "a.scales",
       "shape [2, 4], expected [2, 8]"},
      {"groups that do not cover", gptq().with("group_size", 4), "a.scales",
       "2 groups do not match 16 inputs, 4 in each"},
      {"an index of fewer inputs", gptq().with_tensor(zeros("a.g_idx", "I32", {15})), "a.g_idx",
       "shape [15], expected [16]"},
      {"three bits across a torn end",
       gptq()
           .with("bits", 3)
           .with_tensor(zeros("a.qweight", "I32", {2, 32}))
           .with_tensor(zeros("a.qzeros", "I32", {2, 3}))
           .with_tensor(zeros("a.scales", "F16", {2, 32})),
       "a.qweight", "not a whole number of 3-bit inputs"},
      {"the weight is there too", gptq().with_tensor(zeros("a.weight", "F16", {8, 16})),
       "a.qweight", "'a.weight' also exists"},
      {"group size is a text", gptq().with("group_size", "many"), "quantization_config",
       "'group_size' is not a size"},

      {"AWQ scales of other outputs", awq().with_tensor(zeros("a.scales", "F16", {2, 8})),
       "a.scales", "shape [2, 8], expected [2, 16]"},
      {"AWQ zero points of other outputs", awq().with_tensor(zeros("a.qzeros", "I32", {2, 1})),
       "a.qzeros", "shape [2, 1], expected [2, 2]"},
      {"AWQ groups that do not divide",
       awq()
           .with_tensor(zeros("a.scales", "F16", {3, 16}))
           .with_tensor(zeros("a.qzeros", "I32", {3, 2})),
       "a.qweight", "16 inputs are not divisible into 3 groups of equal size"},

      {"fewer bytes than values", four_bits().with_tensor(zeros("a.weight", "U8", {23, 1})),
       "a.weight", "23 bytes, expected the bytes of 48 4-bit values"},
      {"fewer scales than blocks", four_bits().with_tensor(zeros("a.weight.absmax", "F32", {2})),
       "a.weight.absmax", "2 values, expected 3"},
      {"a table of 15", four_bits().with_tensor(zeros("a.weight.quant_map", "F32", {15})),
       "a.weight.quant_map", "15 values, expected 16"},
      {"no table", four_bits().without("a.weight.quant_map"), "bitsandbytes__nf4",
       "has no matching 'a.weight.quant_map'"},
      {"a block of no values", state_with("blocksize", 0), "bitsandbytes__nf4", "its 'blocksize'"},
      {"a shape of one axis", state_with("shape", {48}), "bitsandbytes__nf4", "its 'shape'"},
      {"a negative size", state_with("shape", {-8, -6}), "bitsandbytes__nf4", "its 'shape'"},
      {"a shape of 10^18 values", state_with("shape", {1'000'000'000, 1'000'000'000}), "a.weight",
       "expected the bytes of 1000000000000000000 4-bit values"},
      {"another dtype", state_with("dtype", "float64"), "bitsandbytes__nf4", "its 'dtype'"},
      {"a state that is no JSON", four_bits().with_tensor(text_tensor(kState, "{]")),
       "bitsandbytes__nf4", "JSON"},
      {"no nested scales", nested().without("a.weight.nested_absmax"), "a.weight",
       "has no matching 'a.weight.nested_absmax'"},
      {"fewer nested scales", nested().with_tensor(zeros("a.weight.nested_absmax", "F32", {1})),
       "a.weight.nested_absmax", "1 value, expected 2"},
      {"a nested table of 16",
       nested().with_tensor(zeros("a.weight.nested_quant_map", "F32", {16})),
       "a.weight.nested_quant_map", "16 values, expected 256"},

      {"a scale for fewer rows", int8().with_tensor(zeros("a.SCB", "F32", {3})), "a.SCB",
       "shape [3], expected [4]"},
      {"bytes without a sign", int8().with_tensor(zeros("a.weight", "U8", {4, 6})), "a.weight",
       "dtype U8, expected I8"},

      {"words of another width", packed({{"num_bits", 8}}), "a.weight_packed",
       "2 words per row do not fit 16 numbers of 8 bits"},
      {"a shape of other rows", packed().with_tensor(sizes("a.weight_shape", {5, 16})),
       "a.weight_shape", "[5, 16] does not match the shape of 4 rows of 2 words"},
      {"a shape of 2^63 columns", packed().with_tensor(sizes("a.weight_shape", {4, INT64_MIN})),
       "a.weight_shape", "does not match the shape"},
      {"a shape of three sizes", packed().with_tensor(sizes("a.weight_shape", {4, 16, 1})),
       "a.weight_shape", "shape [3], expected [2]"},
      {"no shape", packed().without("a.weight_shape"), "a.weight_packed",
       "has no matching 'a.weight_shape'"},
      {"scales of other groups", packed({{"group_size", 4}}), "a.weight_scale",
       "shape [4, 2], expected [4, 4]"},
      {"no zero points where there must be", packed({{"symmetric", false}}), "a.weight_packed",
       "has no matching 'a.weight_zero_point'"},
      {"zero points of other rows",
       packed({{"symmetric", false}}).with_tensor(zeros("a.weight_zero_point", "I32", {2, 2})),
       "a.weight_zero_point", "shape [2, 2], expected [1, 2]"},
      {"zero points of a symmetric scheme",
       packed().with_tensor(zeros("a.weight_zero_point", "I32", {1, 2})), "a.weight_zero_point",
       "the configuration specifies symmetric"},
      {"floats in whole numbers", packed({{"type", "float"}}), "a.weight_packed",
       "does not match the configuration's type 'float'"},
      {"nine bits", packed({{"num_bits", 9}}), "quantization_config", "'num_bits'"},
      {"another strategy", packed({{"strategy", "by-mood"}}), "quantization_config", "'strategy'"},
      {"groups of no size", packed({{"group_size", nullptr}}), "quantization_config",
       "'group_size'"},
      {"no config groups", packed().with("config_groups", json::object()), "quantization_config",
       "has no config_groups"},

      {"blocks of 15 bytes", mxfp4().with_tensor(zeros("a_blocks", "U8", {2, 3, 2, 15})),
       "a_blocks", "shape [2, 3, 2, 15], expected [2, 3, 2, 16]"},
      {"scales of other blocks", mxfp4().with_tensor(zeros("a_scales", "U8", {2, 3, 1})),
       "a_scales", "shape [2, 3, 1], expected [2, 3, 2]"},
      {"no scales of blocks", mxfp4().without("a_scales"), "a_blocks",
       "has no matching 'a_scales'"},
  };
  for (const auto& each : faults) {
    SCOPED_TRACE(each.fault);
    const TempFolder folder;
    const bool in_config = std::string_view(each.place) == "quantization_config";
    EXPECT_ERROR_SAYING(ErrorKind::format, open_malformed(each.sample, folder),
                        in_config ? "config.json" : "model.safetensors", each.place, each.said);
  }
}

TEST(QuantizedMalformed, NamesUnsupportedVariants) {
  const struct {
    const char* variant;
    QuantizedSample sample;
    const char* said;
  } variants[] = {
      {"AWQ's other orders", awq().with("version", "gemv"),
       "AWQ's version 'gemv' is not supported"},
      {"GPTQ for one kernel", gptq().with("checkpoint_format", "marlin"),
       "checkpoint_format 'marlin' is not supported"},
      {"INT8 in tiles", int8().with_tensor({"a.weight_format", "U8", {}, std::string("\2", 1)}),
       "layout 2 of bitsandbytes' INT8 is not supported"},
      {"packed floats",
       packed()
           .with("format", "nvfp4-pack-quantized")
           .with_tensor(zeros("a.weight_packed", "U8", {4, 8})),
       "format 'nvfp4-pack-quantized' of compressed-tensors is not supported"},
  };
  for (const auto& each : variants) {
    SCOPED_TRACE(each.variant);
    const TempFolder folder;
    EXPECT_ERROR_SAYING(ErrorKind::unsupported, open_malformed(each.sample, folder),
                        "model.safetensors", each.said);
  }
}

// The index is tensor data, so it is checked only when it is used.
TEST(QuantizedMalformed, ReportsAnIndexOutOfRangeWhenUsed) {
  std::vector<std::int32_t> groups(16, 1);
  for (const std::int32_t wrong : {2, -1, INT32_MIN}) {
    groups[11] = wrong;
    const TempFolder folder;
    const Checkpoint checkpoint =
        open_malformed(gptq().with_tensor(indices("a.g_idx", groups)), folder);
    EXPECT_ERROR_SAYING(ErrorKind::format, decode_exact(whole_matrix(checkpoint.tensors()[0].view)),
                        "model.safetensors", "a.g_idx", "column 11 belongs to group",
                        "there are only 2 groups");
  }
}

}  // namespace
}  // namespace attnscope::test
