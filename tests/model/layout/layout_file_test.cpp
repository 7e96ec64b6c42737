#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "attnscope/model/layout/layout_file.h"
#include "tests/model/described_model.h"
#include "tests/support/expect_error.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kData = fs::path(ATTNSCOPE_SOURCE_DIR) / "tests" / "data";

/// Dimensions of the tiny checkpoints in tests/data. Each test adds the weights.
json tiny_layout() {
  return {{"schema", "attnscope-layout/1"},
          {"layers", 2},
          {"hidden_size", 32},
          {"heads", 4},
          {"head_dim", 8}};
}

void expect_same_matrices(const Model& a, const Model& b) {
  ASSERT_EQ(a.dimensions().layers, b.dimensions().layers);
  for (std::int64_t layer = 0; layer < a.dimensions().layers; ++layer) {
    for (const Role role : kProjections) {
      ASSERT_EQ(a.has(role), b.has(role)) << role_name(role);
      if (!a.has(role)) continue;
      const auto first = decode<float>(a.weight(layer, role).matrix);
      const auto second = decode<float>(b.weight(layer, role).matrix);
      ASSERT_EQ(first.rows(), second.rows());
      ASSERT_EQ(first.cols(), second.cols());
      const auto bytes = static_cast<std::size_t>(first.rows() * first.cols()) * sizeof(float);
      EXPECT_EQ(std::memcmp(first.data(), second.data(), bytes), 0)
          << "layer " << layer << " " << role_name(role);
    }
  }
}

TEST(Layout, DescribesTensorsFusedPerHead) {
  auto layout = tiny_layout();
  layout["name"] = "my neox";
  layout["prefix"] = "gpt_neox.";
  layout["intermediate_size"] = 56;
  for (const char* role : {"q", "k", "v"}) {
    layout["weights"].push_back({{"role", role},
                                 {"tensor", "layers.{layer}.attention.query_key_value.weight"},
                                 {"fused", {"q", "k", "v"}},
                                 {"order", "per_kv_head"}});
  }
  layout["weights"].push_back({{"role", "o"}, {"tensor", "layers.{layer}.attention.dense.weight"}});
  layout["weights"].push_back(
      {{"role", "up"}, {"tensor", "layers.{layer}.mlp.dense_h_to_4h.weight"}});
  layout["weights"].push_back(
      {{"role", "down"}, {"tensor", "layers.{layer}.mlp.dense_4h_to_h.weight"}});

  const Model model = open_with(kData / "gpt_neox", layout);
  EXPECT_EQ(model.spec().architecture.name, "my neox");
  EXPECT_NE(model.weight(1, Role::key).bias, nullptr);
  expect_same_matrices(model, Model::open(kData / "gpt_neox"));
}

TEST(Layout, DescribesTensorsFusedInBlocksAndStoredInByOut) {
  auto layout = tiny_layout();
  layout["prefix"] = "transformer.";
  layout["intermediate_size"] = 56;
  const auto rule = [](const char* role, const char* tensor) {
    return json{{"role", role}, {"tensor", tensor}, {"storage", "in_by_out"}};
  };
  for (const char* role : {"q", "k", "v"}) {
    layout["weights"].push_back(rule(role, "h.{layer}.attn.c_attn.weight"));
    layout["weights"].back()["fused"] = {"q", "k", "v"};
  }
  layout["weights"].push_back(rule("o", "h.{layer}.attn.c_proj.weight"));
  layout["weights"].push_back(rule("up", "h.{layer}.mlp.c_fc.weight"));
  layout["weights"].push_back(rule("down", "h.{layer}.mlp.c_proj.weight"));
  expect_same_matrices(open_with(kData / "gpt2", layout), Model::open(kData / "gpt2"));
}

TEST(Layout, ValuesMayHaveTheirOwnDimension) {
  const TempFolder folder;
  const fs::path path =
      folder.write("model.safetensors",
                   safetensors_bytes({counting_tensor("q", {4, 6}), counting_tensor("k", {2, 6}),
                                      counting_tensor("v", {3, 6}), counting_tensor("o", {6, 6})}));
  json layout = {{"schema", "attnscope-layout/1"},
                 {"layers", 1},
                 {"hidden_size", 6},
                 {"heads", 2},
                 {"kv_heads", 1},
                 {"head_dim", 2},
                 {"value_dim", 3},
                 {"causal", true}};
  for (const char* role : {"q", "k", "v", "o"}) {
    layout["weights"].push_back({{"role", role}, {"tensor", role}});
  }
  const Model model = open_with(path, layout);
  EXPECT_EQ(model.weight(0, Role::value).matrix.rows, 3);
  EXPECT_EQ(summarize(model).kv_cache_bytes_per_token, 2 * (2 + 3));
  layout["causal"] = false;
  EXPECT_EQ(summarize(open_with(path, layout)).kv_cache_bytes_per_token, std::nullopt);
}

TEST(Layout, RejectsMalformedLayouts) {
  auto audio = tiny_layout();
  audio["weights"] = {{{"role", "q"}, {"tensor", "q"}}, {{"role", "k"}, {"tensor", "k"}}};
  ASSERT_NO_THROW(parse_layout(audio.dump(), "layout.json"));

  const struct {
    std::string_view fault, patch, said;  // RFC 7396: null removes a field
  } patches[] = {
      {"no schema", R"({"schema":null})", "has no 'schema'"},
      {"another schema", R"({"schema":"attnscope-layout/2"})", "'schema' is 'attnscope-layout/2'"},
      {"schema is a number", R"({"schema":1})", "'schema' is not a string"},
      {"no layers", R"({"layers":null})", "has no 'layers'"},
      {"mixers of layers that are none", R"({"mixers":{"name":"x","layers":[2]}})",
       "mixers: 'layers' contains a value that is not a layer from 0 to 1"},
      {"mixers of no layers", R"({"mixers":{"name":"x"}})",
       "mixers: 'layers' is not a list of layers"},
      {"mixers without a name", R"({"mixers":{"layers":[0]}})", "mixers: requires 'delta_net'"},
      {"a convolution without a kernel",
       R"({"mixers":{"layers":[0],"short_convolution":{"place":"conv"}}})", "has no 'kernel'"},
      {"two mixers",
       R"({"mixers":{"layers":[0],"short_convolution":{"place":"c","kernel":2},"delta_net":{"place":
       "d","kernel":2,"key_heads":1,"value_heads":1,"key_dim":1,"value_dim":1}}})",
       "has both 'delta_net' and 'short_convolution'"},
      {"value heads that share no key head",
       R"({"mixers":{"layers":[0],"delta_net":{"place":"d","kernel":2,"key_heads":2,
       "value_heads":3,"key_dim":1,"value_dim":1}}})",
       "3 value heads of linear attention are not a multiple of 2 key heads"},
      {"a state over the limit",
       R"({"mixers":{"layers":[0],"delta_net":{"place":"d","kernel":2,"key_heads":1,
       "value_heads":100000,"key_dim":100000,"value_dim":1}}})",
       "the limit of 1000000000"},
      {"keys fused per head",
       R"({"weights":[{"role":"k","tensor":"k","fused":["k","v"],"order":"per_head"}]})",
       "only q and attention_gate can be fused per_head"},
      {"no width", R"({"hidden_size":null})", "has no 'hidden_size'"},
      {"no heads", R"({"heads":null})", "has no 'heads'"},
      {"no head_dim", R"({"head_dim":null,"heads":5})", "has no 'head_dim'"},
      {"zero layers", R"({"layers":0})", "'layers' is not a whole number from 1"},
      {"too many layers", R"({"layers":10001})", "the limit of 10000"},
      {"negative width", R"({"hidden_size":-1})", "'hidden_size' is not a whole number"},
      {"fractional width", R"({"hidden_size":32.5})", "'hidden_size' is not a whole number"},
      {"width past int64", R"({"hidden_size":18446744073709551615})",
       "'hidden_size' is not a whole number"},
      {"kv_heads that do not divide", R"({"kv_heads":3})", "not a multiple of 3 key/value heads"},
      {"heads as wide as nothing is", R"({"heads":1000000000,"value_dim":1000000000})",
       "the limit"},
      {"name is a list", R"({"name":[]})", "'name' is not a string"},
      {"tied is a number", R"({"tied":1})", "'tied' is not true or false"},
      {"unknown field", R"({"layer":2})", "unknown field 'layer' (did you mean 'layers'?)"},
      {"no experts", R"({"experts":{"count":0}})", "experts: 'count' is not a whole number"},
      {"experts past the limit",
       R"({"experts":{"count":1000000000,"experts_per_token":1,"width":8,
                      "weights":[{"role":"up","tensor":"u"},{"role":"down","tensor":"d"}]}})",
       "1000000000 experts exceed the limit of 65536"},
      {"experts without weights", R"({"experts":{"count":2,"experts_per_token":1,"width":8}})",
       "'weights' is not a list of up, down and optionally gate"},
      {"experts without down",
       R"({"experts":{"count":2,"experts_per_token":1,"width":8,
                      "weights":[{"role":"up","tensor":"u"}]}})",
       "'weights' has no 'down'"},
      {"experts of attention",
       R"({"experts":{"count":2,"experts_per_token":1,"width":8,
                      "weights":[{"role":"q","tensor":"u"}]}})",
       "experts.weights[0]: experts may only have the roles gate, up and down"},
      {"experts in no layer",
       R"({"experts":{"count":2,"experts_per_token":1,"width":8,"layers":[99],
                      "weights":[{"role":"up","tensor":"u"},{"role":"down","tensor":"d"}]}})",
       "'layers' contains a value that is not a layer"},
      {"a router without experts", R"({"weights":[{"role":"router","tensor":"r"}]})",
       "'router' requires 'experts'"},
      {"alternating heads",
       R"({"weights":[{"role":"q","tensor":"t","fused":["q","k"],"order":"alternating"}]})",
       "only gate and up can be fused alternating"},
      {"no weights", R"({"weights":null})", "'weights' is not a list of 1 to 16"},
      {"weights is an object", R"({"weights":{"q":"q"}})", "'weights' is not a list"},
      {"weights is empty", R"({"weights":[]})", "'weights' is not a list of 1 to 16"},
      {"seventeen weights", R"({"weights":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]})",
       "'weights' is not a list of 1 to 16"},
      {"weight is a string", R"({"weights":["q"]})", "weights[0]: is not a JSON object"},
      {"no role", R"({"weights":[{"tensor":"q"}]})", "weights[0]: has no 'role'"},
      {"unknown role", R"({"weights":[{"role":"z","tensor":"q"}]})",
       "weights[0]: unknown role 'z' (roles: q, k, v, o, gate, up, down, router, shared_gate, "
       "shared_up, shared_down, q_a, q_b, kv_a, kv_b, attention_gate)"},
      {"a product is no role", R"({"weights":[{"role":"qk","tensor":"q"}]})", "unknown role 'qk'"},
      {"two that are stacked are no role", R"({"weights":[{"role":"kv","tensor":"kv"}]})",
       "unknown role 'kv'"},
      {"role is a number", R"({"weights":[{"role":1,"tensor":"q"}]})", "a role is not a string"},
      {"no tensor", R"({"weights":[{"role":"q"}]})", "weights[0]: has no 'tensor'"},
      {"one role twice", R"({"weights":[{"role":"q","tensor":"a"},{"role":"q","tensor":"b"}]})",
       "weights[1]: 'q' is described twice"},
      {"unknown storage", R"({"weights":[{"role":"q","tensor":"q","storage":"rows"}]})",
       "'storage' is 'rows' (choices: out_by_in, in_by_out)"},
      {"unknown order", R"({"weights":[{"role":"q","tensor":"q","order":"heads"}]})",
       "'order' is 'heads' (choices: blocks, per_kv_head, per_head, alternating)"},
      {"unknown field of a weight", R"({"weights":[{"role":"q","tensor":"q","stored":1}]})",
       "weights[0]: unknown field 'stored'"},
      {"negative index", R"({"weights":[{"role":"q","tensor":"q","index":-1}]})",
       "'index' is not a whole number from 0"},
      {"fused is a string", R"({"weights":[{"role":"q","tensor":"q","fused":"qkv"}]})",
       "'fused' is not a list of roles"},
      {"fused is empty", R"({"weights":[{"role":"q","tensor":"q","fused":[]}]})",
       "'fused' is not a list of roles"},
      {"fused without itself", R"({"weights":[{"role":"q","tensor":"q","fused":["k","v"]}]})",
       "must list the rule's own role once"},
      {"fused with itself twice", R"({"weights":[{"role":"q","tensor":"q","fused":["q","q"]}]})",
       "lists a role twice"},
      {"fused with another twice",
       R"({"weights":[{"role":"q","tensor":"q","fused":["q","k","k"]}]})", "lists a role twice"},
      {"output fused per head",
       R"({"weights":[{"role":"q","tensor":"q","fused":["q","o"],"order":"per_kv_head"}]})",
       "only q, k and v can be fused per_kv_head"},
      {"MLP without its width", R"({"weights":[{"role":"up","tensor":"up"}]})",
       "weights[0]: an MLP matrix requires 'intermediate_size'"},
      {"newline in a field", R"({"a\nb":1})", "unknown field 'a\\x0ab'"},
  };
  for (const auto& [fault, patch, said] : patches) {
    SCOPED_TRACE(fault);
    auto layout = audio;
    layout.merge_patch(json::parse(patch));
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_layout(layout.dump(), "my/layout.json"),
                        "my/layout.json: ", said);
  }
  for (const char* text : {"", "[]", "null", "{"}) {
    EXPECT_ERROR_SAYING(ErrorKind::format, parse_layout(text, "my/layout.json"), "my/layout.json");
  }
}

TEST(Layout, NamesAMissingFile) {
  EXPECT_ERROR_SAYING(ErrorKind::io, Model::open(kData / "gpt2", "absent/layout.json"),
                      "absent/layout.json");
}

TEST(Layout, IgnoresTrailingAxesOfSizeOne) {
  const TempFolder folder;
  const auto path = folder.write(
      "model.safetensors",
      safetensors_bytes(
          {counting_tensor("q.weight", {4, 4, 1}), counting_tensor("k.weight", {4, 4, 1, 1}),
           counting_tensor("v.weight", {4, 4, 1}), counting_tensor("o.weight", {2, 4, 4, 1})}));
  json layout = small_layout();
  layout["weights"] = {{{"role", "q"}, {"tensor", "q.weight"}},
                       {{"role", "k"}, {"tensor", "k.weight"}},
                       {{"role", "v"}, {"tensor", "v.weight"}, {"storage", "in_by_out"}},
                       {{"role", "o"}, {"tensor", "o.weight"}, {"index", 1}}};
  const Model model = open_with(path, layout);
  const auto element = [&](Role role) { return decode<float>(model.weight(0, role).matrix)(1, 2); };
  EXPECT_EQ(element(Role::query), 6);
  EXPECT_EQ(element(Role::key), 6);
  EXPECT_EQ(element(Role::value), 9);
  EXPECT_EQ(element(Role::output), 16 + 6);

  const auto wrong = folder.write("wrong.safetensors",
                                  safetensors_bytes({counting_tensor("q.weight", {4, 4, 2})}));
  layout["weights"] = {{{"role", "q"}, {"tensor", "q.weight"}}};
  EXPECT_ERROR_SAYING(ErrorKind::format, open_with(wrong, layout),
                      "shape [4, 4, 2], expected [4, 4]");
}

}  // namespace
}  // namespace attnscope::test
