// A model before its tensors are located: its architecture and its sizes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/role.h"
#include "attnscope/model/architecture.h"
#include "attnscope/model/layer_spec.h"
#include "attnscope/model/tensor_names.h"

namespace attnscope {

/// Ranks of the MLA latents.
struct MlaRanks {
  std::int64_t query = 0;      // 0: queries have no latent
  std::int64_t key_value = 0;  // c; 0: W_K and W_V are stored instead of a KV latent
};

struct Dimensions {
  std::int64_t layers = 0;        // counted as run; ALBERT runs its groups several times
  std::int64_t layer_groups = 0;  // groups that share weights; 0: every layer has its own weights
  std::int64_t layers_per_group = 1;
  HeadShape heads;
  std::int64_t width = 0;         // D (hidden_size)
  std::int64_t source_width = 0;  // of the vectors that W_K and W_V of a cross-attention read; 0: D
  std::int64_t mlp_width = 0;     // F (intermediate_size); 0 if no MLP is described
  std::int64_t experts = 0;       // per MoE layer; 0: no layer has experts
  std::int64_t expert_width = 0;  // F of one expert
  std::int64_t expert_inputs = 0;  // dimension that an expert reads and writes; D unless it reads a
                                   // projection
  std::int64_t shared_width = 0;   // F of the shared experts together; 0: there are none
  std::optional<std::int64_t> vocabulary;
  std::optional<std::int64_t> context;  // tokens
  std::optional<MlaRanks> mla;          // none: W_Q, W_K and W_V are stored
  std::int64_t attention_streams = 1;   // number of concatenated streams of size D that attention
                                        // reads
  std::shared_ptr<const std::vector<LayerNumbers>> places;  // stage and layer in it of each layer;
                                                            // null: there are no stages
  std::shared_ptr<const MixerSizes> mixers;  // null: every layer has attention and no other mixer

  /// The size of the vectors that W_K and W_V read.
  std::int64_t key_inputs() const {
    return source_width > 0 ? source_width : attention_streams * width;
  }
  bool attends(std::int64_t layer) const {
    return mixers == nullptr || mixers->layers[static_cast<std::size_t>(layer)].attends;
  }
  /// Whether the layer has a mixer other than attention.
  bool mixes(std::int64_t layer) const {
    return mixers != nullptr && mixers->layers[static_cast<std::size_t>(layer)].mixes();
  }
  /// Whether texts skip the layer, because it only attends to images.
  bool skips(std::int64_t layer) const {
    return mixers != nullptr && mixers->layers[static_cast<std::size_t>(layer)].skipped;
  }
  /// False for a layer that consists of attention or a mixer only, or that texts skip.
  bool has_mlp(std::int64_t layer) const {
    return mixers == nullptr ||
           (mixers->layers[static_cast<std::size_t>(layer)].after != AfterMixer::nothing &&
            !skips(layer));
  }
  /// Layers with attention, ascending.
  std::vector<std::int64_t> attention_layers() const;
};

/// Returns why a layer has no matrix of that role: it has no attention, or is a single block. Empty
/// if neither applies.
std::string why_not_mixed(const Dimensions& dimensions, Role role, std::int64_t layer);

/// The quantization_config of a config.json.
struct Quantization {
  std::string method;  // empty if there is none
  std::string config;  // the whole object, as JSON
};

struct ModelSpec {
  Architecture architecture;
  Dimensions dimensions;
  std::vector<Dimensions> own_dimensions;   // per layer; empty: all layers have `dimensions`
  std::vector<KeyValueSharing> key_values;  // per layer; empty: all layers compute their own
  bool tied = false;                        // tie_word_embeddings
  bool causal = true;                       // a decoder, which has a KV cache
  std::vector<LayerSpec> layers;            // empty if the forward pass is not described
  std::vector<bool> expert_layers;          // which layers have experts; empty: none
  StreamSpec stream;
  HeadSpec head;
  std::optional<LabelHeadSpec> labels;  // set: the model predicts labels, not tokens
  std::string not_run;                  // why the forward pass cannot be computed; empty: it can
  bool multimodal = false;              // the files also contain other models
  Quantization quantization;
  std::string source;  // the file that describes the model, for messages
  std::string text;    // text of that file

  bool has_experts(std::int64_t layer) const {
    return !expert_layers.empty() && expert_layers[static_cast<std::size_t>(layer)];
  }
  const Dimensions& dimensions_of(std::int64_t layer) const {
    return own_dimensions.empty() ? dimensions : own_dimensions[static_cast<std::size_t>(layer)];
  }
  KeyValueSharing sharing_of(std::int64_t layer) const {
    return key_values.empty() ? KeyValueSharing{} : key_values[static_cast<std::size_t>(layer)];
  }
};

/// The maximum of each size over all layers, used to estimate memory.
Dimensions largest_dimensions(const ModelSpec& spec);

/// Returns the shape in canonical orientation, (rows, cols). For roles of the MLP: the shape in
/// layers without experts.
std::pair<std::int64_t, std::int64_t> canonical_shape(const Dimensions& dimensions, Role role);

/// Returns the sizes with `mlp_width` and `width` of one expert.
Dimensions of_expert(const Dimensions& dimensions);

/// The group and inner layer of a layer's weights, or its stage and layer in it; the layer's own
/// number if there are none.
LayerNumbers layer_numbers(const Dimensions& dimensions, std::int64_t layer);

/// Throws Error(format) for sizes that contradict each other or exceed a limit.
void check_dimensions(const Dimensions& dimensions, std::string_view where);

/// The limits for the number of layers and for all other sizes.
inline constexpr std::int64_t kMaxLayers = 10'000;
inline constexpr std::int64_t kMaxSize = 1'000'000'000;

}  // namespace attnscope
