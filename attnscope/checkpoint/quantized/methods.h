// The quantization methods: one file each, one line each in quantized.cpp. Each method finds the
// parts of its weights, checks their shapes, and adds the combined weights.
#pragma once

#include "attnscope/checkpoint/quantized/weight_tensors.h"

namespace attnscope {

// Source: deepseek-ai/DeepSeek-V3, inference/kernel.py, weight_dequant; huggingface/transformers,
// integrations/finegrained_fp8.py and fbgemm_fp8.py.
void compose_fp8(WeightParts& parts);

// Source: ModelCloud/GPTQModel, nn_modules/qlinear/torch.py.
void compose_gptq(WeightParts& parts);

// Source: casper-hansen/AutoAWQ, awq/utils/packing_utils.py, dequantize_gemm.
void compose_awq(WeightParts& parts);

// Source: bitsandbytes-foundation/bitsandbytes, functional.py, QuantState and
// int8_vectorwise_dequant.
void compose_bitsandbytes(WeightParts& parts);

// Source: huggingface/transformers, integrations/bitnet.py, unpack_weights.
void compose_bitnet(WeightParts& parts);

// Source: vllm-project/compressed-tensors, compressors/.
void compose_compressed_tensors(WeightParts& parts);

// Source: huggingface/transformers, integrations/mxfp4.py, _convert_moe_packed_tensors.
void compose_mxfp4(WeightParts& parts);

}  // namespace attnscope
