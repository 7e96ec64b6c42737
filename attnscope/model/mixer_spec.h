// What each layer has for its tokens to see each other, resolved from config.json.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnscope/core/activation.h"
#include "attnscope/model/mixer_rule.h"

namespace attnscope {

struct LayerMixer {
  bool attends = true;
  std::string name;  // what stands in place of attention, or beside it; empty: nothing
  AfterMixer after = AfterMixer::usual;
  std::int64_t weights_of = 0;  // the layer whose attention weights it has
};

/// Of a whole model. Numbers are float32, of each layer that does not attend.
struct MixerSizes {
  std::vector<LayerMixer> layers;  // as many as the model has
  std::int64_t state = 0;          // numbers that a text leaves behind
  std::int64_t row = 0;            // numbers of each token while the layer runs
};

/// DeltaNetRule, resolved.
struct DeltaNetSpec {
  std::int64_t key_heads = 0, value_heads = 0;  // the latter a multiple of the former
  std::int64_t key_dim = 0, value_dim = 0;      // of one head
  std::int64_t kernel = 1;
  std::string place;
  bool by_head = false;
  bool rates_kept = false;
  double epsilon = 0;                          // of the norm of what heads give
  Activation activation = Activation::linear;  // of what is convolved

  std::int64_t keys() const { return key_heads * key_dim; }
  std::int64_t values() const { return value_heads * value_dim; }
  std::int64_t convolved() const { return 2 * keys() + values(); }
  std::int64_t projected() const { return convolved() + values() + 2 * value_heads; }
};

/// ShortConvolutionRule, resolved.
struct ShortConvolutionSpec {
  std::int64_t kernel = 1;
  std::string place;
  bool biased = false;
};

/// What the forward pass computes in place of a layer's attention; one of these.
struct MixerSpec {
  std::optional<DeltaNetSpec> delta_net;
  std::optional<ShortConvolutionSpec> short_convolution;
};

}  // namespace attnscope
