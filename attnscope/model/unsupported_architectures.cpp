#include "attnscope/model/unsupported_architectures.h"

#include <array>

namespace attnscope {
namespace {

constexpr std::array kUnsupported = {
    UnsupportedArchitecture{"bitnet", "heads and MLPs have norms before their last projection"},
    UnsupportedArchitecture{"deformable_detr", "queries read a few sampled points, not all keys"},
    UnsupportedArchitecture{"diffllama", "attention is the difference of two softmaxes"},
    UnsupportedArchitecture{"dinov3_convnext", "it is a convolutional network without attention"},
    UnsupportedArchitecture{"doge", "values select and weight the keys (dynamic mask attention)"},
    UnsupportedArchitecture{"falcon_mamba", "no layer has attention"},
    UnsupportedArchitecture{"layoutlmv3", "scores have position biases in two dimensions"},
    UnsupportedArchitecture{"led", "local attention is combined with global tokens"},
    UnsupportedArchitecture{"mamba", "no layer has attention"},
    UnsupportedArchitecture{"mamba2", "no layer has attention"},
    UnsupportedArchitecture{"minimax", "most layers have a linear attention (lightning attention)"},
    UnsupportedArchitecture{"mllama", "some layers only attend to images"},
    UnsupportedArchitecture{"nezha", "relative positions have embeddings for keys and values"},
    UnsupportedArchitecture{"sam2", "queries are pooled between the stages of its vision encoder"},
    UnsupportedArchitecture{"vision-encoder-decoder",
                            "its encoder and decoder are two models of other architectures"},
    UnsupportedArchitecture{"xlnet", "attention has two streams and Transformer-XL's positions"},
};

}  // namespace

std::span<const UnsupportedArchitecture> unsupported_architectures() { return kUnsupported; }

std::string_view why_unsupported(std::string_view model_type) {
  for (const UnsupportedArchitecture& each : kUnsupported) {
    if (each.model_type == model_type) return each.reason;
  }
  return "";
}

}  // namespace attnscope
