#include "attnscope/checkpoint/gguf/block_formats.h"

#include <algorithm>
#include <array>

namespace attnscope {
namespace {

// Source: ggml-org/llama.cpp, ggml/include/ggml.h, ggml_type. Missing ids were withdrawn.
constexpr std::array kTypes = {
    GgmlType{0, "F32", 1, 4, nullptr, DType::f32},
    GgmlType{1, "F16", 1, 2, nullptr, DType::f16},
    GgmlType{2, "Q4_0", 32, 18, decode_q4_0},
    GgmlType{3, "Q4_1", 32, 20, decode_q4_1},
    GgmlType{6, "Q5_0", 32, 22, decode_q5_0},
    GgmlType{7, "Q5_1", 32, 24, decode_q5_1},
    GgmlType{8, "Q8_0", 32, 34, decode_q8_0},
    GgmlType{9, "Q8_1", 32, 40},
    GgmlType{10, "Q2_K", 256, 84, decode_q2_k},
    GgmlType{11, "Q3_K", 256, 110, decode_q3_k},
    GgmlType{12, "Q4_K", 256, 144, decode_q4_k},
    GgmlType{13, "Q5_K", 256, 176, decode_q5_k},
    GgmlType{14, "Q6_K", 256, 210, decode_q6_k},
    GgmlType{15, "Q8_K", 256, 292},
    GgmlType{16, "IQ2_XXS", 256, 66},
    GgmlType{17, "IQ2_XS", 256, 74},
    GgmlType{18, "IQ3_XXS", 256, 98},
    GgmlType{19, "IQ1_S", 256, 50},
    GgmlType{20, "IQ4_NL", 32, 18, decode_iq4_nl},
    GgmlType{21, "IQ3_S", 256, 110},
    GgmlType{22, "IQ2_S", 256, 82},
    GgmlType{23, "IQ4_XS", 256, 136, decode_iq4_xs},
    GgmlType{24, "I8", 1, 1, nullptr, DType::i8},
    GgmlType{25, "I16", 1, 2, nullptr, DType::i16},
    GgmlType{26, "I32", 1, 4, nullptr, DType::i32},
    GgmlType{27, "I64", 1, 8, nullptr, DType::i64},
    GgmlType{28, "F64", 1, 8, nullptr, DType::f64},
    GgmlType{29, "IQ1_M", 256, 56},
    GgmlType{30, "BF16", 1, 2, nullptr, DType::bf16},
    GgmlType{34, "TQ1_0", 256, 54},
    GgmlType{35, "TQ2_0", 256, 66},
    GgmlType{39, "MXFP4", 32, 17, decode_mxfp4},
    GgmlType{40, "NVFP4", 64, 36},
    GgmlType{41, "Q1_0", 128, 18},
};

}  // namespace

std::span<const GgmlType> ggml_types() { return kTypes; }

const GgmlType* find_ggml_type(std::uint32_t id) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const GgmlType& type) { return type.id == id; });
  return found == kTypes.end() ? nullptr : &*found;
}

}  // namespace attnscope
