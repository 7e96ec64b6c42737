// Layers of different shapes, and layers that share keys and values, by config.json and layout
// file.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "attnscope/model/config/parse_config.h"
#include "attnscope/model/layout/layout_file.h"
#include "attnscope/model/model.h"
#include "tests/model/described_model.h"
#include "tests/model/spec_of.h"
#include "tests/support/expect_error.h"

namespace attnscope::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kShapeData = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests" / "data";

/// Gemma 4 in which layers 1 and 3 have full attention.
ModelSpec gemma4_of(const json& changes = json::object()) {
  json config = {{"num_hidden_layers", 4},
                 {"head_dim", 8},
                 {"global_head_dim", 12},
                 {"intermediate_size", 20},
                 {"layer_types",
                  {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}}};
  config.merge_patch(changes);
  return spec_of("gemma4_text", config);
}

std::vector<std::int64_t> head_dims(const ModelSpec& spec) {
  std::vector<std::int64_t> out;
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    EXPECT_EQ(spec.dimensions_of(layer).heads.head_dim, spec.dimensions_of(layer).heads.value_dim);
    out.push_back(spec.dimensions_of(layer).heads.head_dim);
  }
  return out;
}

std::vector<std::int64_t> kv_heads(const ModelSpec& spec) {
  std::vector<std::int64_t> out;
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    out.push_back(spec.dimensions_of(layer).heads.kv_heads);
  }
  return out;
}

std::vector<std::int64_t> mlp_widths(const ModelSpec& spec) {
  std::vector<std::int64_t> out;
  for (std::int64_t layer = 0; layer < spec.dimensions.layers; ++layer) {
    out.push_back(spec.dimensions_of(layer).mlp_width);
  }
  return out;
}

using Sizes = std::vector<std::int64_t>;

ModelSpec segformer_of(const json& changes = json::object()) {
  json config = {{"depths", {1, 2}},
                 {"hidden_sizes", {4, 12}},
                 {"num_attention_heads", {1, 3}},
                 {"mlp_ratios", {2, 3}}};
  config.merge_patch(changes);
  return spec_of("segformer", config);
}

TEST(LayerShapesConfig, ReadsStages) {
  const ModelSpec spec = segformer_of();
  EXPECT_EQ(spec.dimensions.layers, 3);
  EXPECT_EQ(spec.dimensions.width, 12);
  EXPECT_EQ(mlp_widths(spec), (Sizes{8, 36, 36}));
  EXPECT_EQ(kv_heads(spec), (Sizes{1, 3, 3}));
  EXPECT_EQ(head_dims(spec), (Sizes{4, 4, 4}));
  const LayerNumbers last = layer_numbers(spec.dimensions, 2);
  EXPECT_EQ(last.group, 1);
  EXPECT_EQ(last.inner, 1);
}

TEST(LayerShapesConfig, DoublesTheHiddenSizePerStage) {
  const ModelSpec spec = spec_of(
      "swin",
      {{"embed_dim", 6}, {"depths", {1, 1, 1}}, {"num_heads", {1, 2, 4}}, {"mlp_ratio", 2.5}});
  EXPECT_EQ(mlp_widths(spec), (Sizes{15, 30, 60}));
  EXPECT_EQ(spec.dimensions.width, 24);
}

/// The windows of stages of 8 × 6 and 4 × 3 patches.
std::vector<PatchWindowSpec> windows_of(const char* type, std::int64_t size) {
  const ModelSpec spec = spec_of(type, {{"embed_dim", 4},
                                        {"depths", {2, 2}},
                                        {"num_heads", {1, 2}},
                                        {"image_size", {16, 12}},
                                        {"patch_size", 2},
                                        {"window_size", size}});
  std::vector<PatchWindowSpec> out;
  for (const LayerSpec& layer : spec.layers) {
    if (layer.attention.windows) out.push_back(*layer.attention.windows);
  }
  return out;
}

TEST(LayerShapesConfig, ReadsWindowsOfPatches) {
  const PatchWindowSpec plain{.size = 3};
  const PatchWindowSpec later{.size = 3, .shift = 1, .wrapped = -100};
  EXPECT_EQ(windows_of("swin", 3), (std::vector{plain, later, plain, plain}));
  EXPECT_TRUE(windows_of("swin", 4).size() < 4) << "the last stage has only 3 columns";
  const PatchWindowSpec wide{.size = 4};
  const PatchWindowSpec wide_later{.size = 4, .shift = 2, .wrapped = -200};
  EXPECT_EQ(windows_of("swinv2", 4), (std::vector{wide, wide_later, wide, wide}));
  const PatchWindowSpec whole{.size = 8};
  EXPECT_EQ(windows_of("swinv2", 9), (std::vector{whole, whole, wide, wide}));
}

TEST(LayerShapesConfig, RefusesWindowsThatDoNotFit) {
  const json sizes = {{"embed_dim", 4}, {"depths", {1}}, {"num_heads", {1}}};
  const auto refusal = [&](json changes) {
    json config = sizes;
    config.merge_patch(changes);
    return spec_of("swin", config).not_run;
  };
  EXPECT_EQ(refusal({{"image_size", 28}, {"window_size", 7}}), "");
  EXPECT_EQ(refusal({{"image_size", 28}, {"window_size", 8}}),
            "windows of 8 × 8 patches are larger than the 7 × 7 patches of stage 0");
  EXPECT_EQ(refusal({{"image_size", 30}}),
            "images of 30 × 30 pixels, whose sides are not multiples of a patch of 4 pixels, are "
            "not supported");
  EXPECT_EQ(refusal({{"image_size", 4000}, {"window_size", 300}}),
            "windows of 300 × 300 patches are above the limit of 256 × 256");
  EXPECT_ERROR_SAYING(ErrorKind::format, refusal({{"image_size", {1, 2, 3}}}), "lists 3 sides");
}

TEST(LayerShapesConfig, OmitsCrossAttentionToVectorsOfAnotherSize) {
  json config = {{"model_type", "blip"},
                 {"text_config", {{"hidden_size", 768}, {"encoder_hidden_size", 768}}},
                 {"vision_config", {{"hidden_size", 768}}}};
  EXPECT_EQ(parse_stacks(config.dump(), "config.json").size(), 3U);
  config["text_config"]["encoder_hidden_size"] = 1024;
  const std::vector<ModelSpec> stacks = parse_stacks(config.dump(), "config.json");
  ASSERT_EQ(stacks.size(), 2U);
  EXPECT_EQ(stacks.front().architecture.stack, "text");
  EXPECT_EQ(stacks.back().architecture.stack, "vision");
}

TEST(LayerShapesConfig, RefusesStagesThatContradictEachOther) {
  EXPECT_ERROR_SAYING(ErrorKind::format, segformer_of({{"hidden_sizes", {4}}}),
                      "lists of sizes per stage");
  EXPECT_ERROR_SAYING(ErrorKind::format, segformer_of({{"mlp_ratios", {4, 4, 4}}}),
                      "lists of sizes per stage");
  EXPECT_ERROR_SAYING(ErrorKind::format, segformer_of({{"hidden_sizes", {4, 8}}}),
                      "is not a multiple of 3 heads");
  EXPECT_ERROR_SAYING(ErrorKind::format, segformer_of({{"depths", {1, 20'000}}}),
                      "above the limits");
  EXPECT_ERROR_SAYING(ErrorKind::format, segformer_of({{"depths", json::array()}}),
                      "does not list 1 to 16 stages");
}

TEST(LayerShapes, FullAttentionLayersHaveTheirOwnHeads) {
  const ModelSpec spec = gemma4_of({{"num_global_key_value_heads", 2}});
  EXPECT_EQ(head_dims(spec), (Sizes{8, 12, 8, 12}));
  EXPECT_EQ(kv_heads(spec), (Sizes{4, 4, 4, 4})) << "read only where values are keys";
  EXPECT_FALSE(spec.sharing_of(1).values_are_keys);
  const ModelSpec same = gemma4_of({{"num_global_key_value_heads", 2}, {"attention_k_eq_v", true}});
  EXPECT_EQ(kv_heads(same), (Sizes{4, 2, 4, 2}));
  EXPECT_TRUE(same.sharing_of(1).values_are_keys);
  EXPECT_FALSE(same.sharing_of(2).values_are_keys);
  EXPECT_EQ(largest_dimensions(same).heads.head_dim, 12);
  EXPECT_EQ(largest_dimensions(same).heads.kv_heads, 4);
  // Keys and values of 16 bits each. They are cached separately even if one matrix computes both.
  EXPECT_EQ(kv_cache_bytes_per_token(same), 2 * 2 * (2 * 4 * 8 + 2 * 2 * 12));
  EXPECT_EQ(head_dims(spec_of("gemma4_text", {{"num_hidden_layers", 7}})),
            (Sizes{256, 256, 256, 256, 256, 512, 512}))
      << "the last is full";
}

TEST(LayerShapes, PerLayerValuesOverrideThoseOfTheLayerType) {
  const json own = {{"1", {{"head_dim", 16}, {"num_key_value_heads", 1}}}};
  const ModelSpec spec = gemma4_of({{"per_layer_config", own}});
  EXPECT_EQ(head_dims(spec), (Sizes{8, 16, 8, 8}));
  EXPECT_EQ(kv_heads(spec), (Sizes{4, 1, 4, 4}));
  EXPECT_EQ(head_dims(gemma4_of({{"per_layer_config", json::object()}})), (Sizes{8, 8, 8, 8}));
}

TEST(LayerShapes, TheLastLayersShareKeysAndValuesOfTheirType) {
  const ModelSpec spec = gemma4_of({{"num_kv_shared_layers", 2}, {"use_double_wide_mlp", true}});
  EXPECT_EQ(spec.sharing_of(0).from, std::nullopt);
  EXPECT_EQ(spec.sharing_of(1).from, std::nullopt);
  EXPECT_EQ(spec.sharing_of(2).from, 0);
  EXPECT_EQ(spec.sharing_of(3).from, 1);
  EXPECT_EQ(mlp_widths(spec), (Sizes{20, 20, 40, 40}));
  EXPECT_EQ(kv_cache_bytes_per_token(spec), 2 * 2 * 4 * (8 + 12));
  EXPECT_EQ(mlp_widths(gemma4_of({{"num_kv_shared_layers", 2}})), (Sizes{20, 20, 20, 20}));
}

TEST(LayerShapes, MlpsMayHaveDifferentSizes) {
  const ModelSpec spec = spec_of(
      "gemma3n_text", {{"intermediate_size", {8, 12, 16, 99}}, {"num_kv_shared_layers", 0}});
  EXPECT_EQ(mlp_widths(spec), (Sizes{8, 12, 16}));
}

TEST(LayerShapes, RejectsContradictions) {
  const struct {
    json changes;
    std::string_view said;
  } cases[] = {
      {{{"num_kv_shared_layers", 4}}, "'num_kv_shared_layers' is 4 of 4 layers"},
      {{{"num_kv_shared_layers", 3}},
       "layer 1 is configured to reuse keys and values of an earlier layer of its type, but there "
       "is none"},
      {{{"num_kv_shared_layers", 2}, {"per_layer_config", {{"3", {{"head_dim", 4}}}}}},
       "layer 3 cannot reuse the keys and values of layer 1, whose heads have another shape"},
      {{{"intermediate_size", {8, 8}}}, "'intermediate_size' lists 2 of 4 layers"},
      {{{"per_layer_config", {{"4", {{"head_dim", 4}}}}}}, "not a layer from 0 to 3"},
      {{{"per_layer_config", {{"x", {{"head_dim", 4}}}}}}, "contains 'x', which is not a layer"},
      {{{"per_layer_config", {{"1", 4}}}}, "'per_layer_config' does not contain objects"},
      {{{"per_layer_config", {{"1", {{"num_key_value_heads", 3}}}}}},
       "4 heads are not a multiple of 3 key/value heads"},
      {{{"global_head_dim", 1'000'000'000}}, "the limit"},
  };
  for (const auto& each : cases) {
    EXPECT_ERROR_SAYING(ErrorKind::format, gemma4_of(each.changes), each.said);
  }
  const json window = {{"per_layer_config", {{"1", {{"sliding_window", 4}}}}}};
  EXPECT_ERROR_SAYING(ErrorKind::unsupported, gemma4_of(window),
                      "different values of 'sliding_window' per layer are not supported");
}

TEST(LayerShapes, ALayoutFileDescribesThemToo) {
  json layout = small_layout();
  layout["layers"] = 4;
  layout["intermediate_size"] = 6;
  layout["weights"] = {{{"role", "q"}, {"tensor", "q"}}};
  layout["layer_shapes"] = {
      {{"layers", {1, 3}}, {"kv_heads", 1}, {"head_dim", 3}, {"values_are_keys", true}},
      {{"layers", {2}}, {"intermediate_size", 9}, {"keys_and_values_of", 0}}};
  const ModelSpec spec = parse_layout(layout.dump(), "layout.json");
  EXPECT_EQ(head_dims(spec), (Sizes{2, 3, 2, 3}));
  EXPECT_EQ(kv_heads(spec), (Sizes{2, 1, 2, 1}));
  EXPECT_EQ(mlp_widths(spec), (Sizes{6, 6, 9, 6}));
  EXPECT_TRUE(spec.sharing_of(3).values_are_keys);
  EXPECT_EQ(spec.sharing_of(2).from, 0);
  const std::pair<json, std::string_view> wrong[] = {
      {{{"layers", {4}}}, "does not list layers from 0 to 3"},
      {{{"layers", {2, 1}}}, "in ascending order"},
      {{{"kv_heads", 1}}, "'layers' is not a list of layers"},
      {{{"layers", {1}}, {"keys_and_values_of", 2}}, "layer 2, which is not an earlier layer"},
      {{{"layers", {1}}, {"head_dim", 5}, {"keys_and_values_of", 0}}, "have another shape"},
      {{{"layers", {1, 2}}, {"keys_and_values_of", 1}}, "which is not an earlier layer"},
      {{{"layers", {1}}, {"value_dim", 1}, {"values_are_keys", true}}, "of the same size as keys"},
      {{{"layers", {1}}, {"hidden_size", 1}}, "'hidden_size'"}};
  for (const auto& [entry, said] : wrong) {
    layout["layer_shapes"] = json::array({entry});
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_layout(layout.dump(), "layout.json"), said);
  }
}

TEST(LayerShapes, SharingLayersHaveNoKeysOfTheirOwn) {
  const Model model = Model::open(kShapeData / "forward" / "gemma4");
  EXPECT_EQ(model.weight(1, Role::query).matrix.rows, 4 * 12);
  EXPECT_EQ(model.weight(2, Role::key).missing, "layer 2 reuses the keys and values of layer 0");
  EXPECT_EQ(model.weight(3, Role::value).missing, "layer 3 reuses the keys and values of layer 1");
  EXPECT_FALSE(model.has(Role::qk, 2));
  const Model same = Model::open(kShapeData / "forward" / "gemma4-same-matrix");
  EXPECT_EQ(same.weight(1, Role::value).tensor, same.weight(1, Role::key).tensor);
  EXPECT_NE(same.weight(0, Role::value).tensor, same.weight(0, Role::key).tensor);
}

TEST(LayerShapes, EveryTensorOfFamiliesWithStreamsHasARole) {
  for (const char* folder : {"weights_only/deepseek_v4", "forward/gemma3n"}) {
    SCOPED_TRACE(folder);
    const Model model = Model::open(kShapeData / folder);
    for (const Role role : {Role::query, Role::key, Role::value, Role::qk}) {
      EXPECT_TRUE(model.has(role, 0)) << role_name(role);
    }
    for (const TensorSummary& tensor : inventory_of(model).tensors) {
      EXPECT_NE(tensor.role, "other") << tensor.name;
    }
  }
  const Model model = Model::open(kShapeData / "weights_only" / "deepseek_v4");
  EXPECT_FALSE(model.spec().not_run.empty());
  EXPECT_TRUE(model.is_of_latents(Role::query));
  EXPECT_TRUE(model.is_stored(Role::key));
  EXPECT_EQ(model.weight(0, Role::key).tensor, model.weight(0, Role::value).tensor);
  EXPECT_FALSE(model.describes(Role::output));
  EXPECT_EQ(inventory_of(model).summary.kv_cache_bytes_per_token, std::nullopt);
}

}  // namespace
}  // namespace attnscope::test
