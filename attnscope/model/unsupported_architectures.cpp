#include "attnscope/model/unsupported_architectures.h"

#include <array>

namespace attnscope {
namespace {

constexpr std::array kUnsupported = {
    UnsupportedArchitecture{"deformable_detr", "queries read a few sampled points, not all keys"},
    UnsupportedArchitecture{"diffllama", "attention is the difference of two softmaxes"},
    UnsupportedArchitecture{"dinov3_convnext", "it is a convolutional network without attention"},
    UnsupportedArchitecture{"doge", "values select and weight the keys (dynamic mask attention)"},
    UnsupportedArchitecture{"falcon_mamba", "no layer has attention"},
    UnsupportedArchitecture{"mamba", "no layer has attention"},
    UnsupportedArchitecture{"mamba2", "no layer has attention"},
    UnsupportedArchitecture{"nezha", "relative positions have embeddings for keys and values"},
    UnsupportedArchitecture{"sam2", "queries are pooled between the stages of its vision encoder"},
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
