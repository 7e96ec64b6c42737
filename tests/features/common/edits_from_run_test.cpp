// `--edits` with values of other runs: texts, token ids and saved activations.
#include "tests/features/common/edits_command.h"
#include "tests/support/npy.h"

namespace attnscope::test {
namespace {

using EditsFromRun = CliEdits;

/// Nested lists of the values [first, …) of a saved array.
json nested(const std::vector<float>& values, const Shape& shape, std::size_t axis,
            std::size_t& next) {
  if (axis == shape.size()) return values[next++];
  json list = json::array();
  for (std::int64_t at = 0; at < shape[axis]; ++at) {
    list.push_back(nested(values, shape, axis + 1, next));
  }
  return list;
}

/// One layer of a saved array.
json layer_of(const std::string& file, const std::string& name, std::size_t layer) {
  const Checkpoint saved = Checkpoint::open(file);
  const CheckpointTensor& tensor = *saved.find(name);
  const std::vector<float> values = values_of(tensor);
  Shape shape(tensor.view.shape.begin() + 1, tensor.view.shape.end());
  std::size_t next = values.size() / static_cast<std::size_t>(tensor.view.shape[0]) * layer;
  return nested(values, shape, 0, next);
}

TEST_F(EditsFromRun, EqualTheSavedValues) {
  for (const std::string model : {"gpt2", "llama"}) {
    const std::string folder = data_path("forward/" + model);
    const Words run = {folder, "--tokens", kEditedText};
    const std::vector<float> plain = logits(run);
    for (const std::string name : {"resid_post", "z", "k", "result", "mlp_out"}) {
      SCOPED_TRACE(model + " " + name);
      const std::string file = saved({folder, "--tokens", kOtherText}, name);
      const json edit = {{"name", name}, {"layer", 1}};
      json of_tokens = edit, of_file = edit, of_set = edit;
      of_tokens["from_run"] = {{"tokens", {30, 4, 21, 9, 40}}};
      of_file["from_run"] = {{"file", file}};
      of_set["set"] = layer_of(file, name, 1);
      const std::vector<float> expected = logits(run, list_of(of_set));
      EXPECT_NE(expected, plain);
      EXPECT_EQ(logits(run, list_of(of_tokens)), expected);
      EXPECT_EQ(logits(run, list_of(of_file)), expected);
    }
  }
}

TEST_F(EditsFromRun, OfAllLayersGiveItsMaps) {
  const Words run = {kEditedModel, "--tokens", kEditedText};
  for (const std::string name : {"pattern", "attn_scores"}) {
    const std::string file = saved({kEditedModel, "--tokens", kOtherText}, "pattern," + name);
    for (const json& source : {json{{"file", file}}, json{{"tokens", {30, 4, 21, 9, 40}}}}) {
      const std::string list = edits(list_of({{"name", name}, {"from_run", source}}));
      output_of(
          Words{"predict"} + run +
          Words{"--activations", "pattern", "--save", path("edited.safetensors"), "--edits", list});
      EXPECT_EQ(values_of(*Checkpoint::open(path("edited.safetensors")).find("pattern")),
                values_of(*Checkpoint::open(file).find("pattern")))
          << name;
    }
  }
}

TEST_F(EditsFromRun, KeepTheOrderOfPositionsAndHeads) {
  const Words run = {kEditedModel, "--tokens", kEditedText};
  const std::string file = saved({kEditedModel, "--tokens", kOtherText}, "z,pattern");
  const json z = layer_of(file, "z", 0), pattern = layer_of(file, "pattern", 1);
  const json source = {{"file", file}};
  const auto expect_equal = [&](json edit, const json& value) {
    SCOPED_TRACE(edit.dump());
    json set = edit;
    set.erase("from_positions");
    edit["from_run"] = source;
    set["set"] = value;
    const std::vector<float> expected = logits(run, list_of(set));
    EXPECT_EQ(logits(run, list_of(edit)), expected);
    edit["from_run"] = {{"tokens", {30, 4, 21, 9, 40}}};
    EXPECT_EQ(logits(run, list_of(edit)), expected);
  };
  expect_equal({{"name", "z"}, {"layer", 0}, {"positions", {3, 1}}}, {z[3], z[1]});
  expect_equal({{"name", "z"}, {"layer", 0}, {"positions", {-1, 0}}, {"head", 1}},
               {z[4][1], z[0][1]});
  expect_equal({{"name", "z"}, {"layer", 0}, {"positions", "last"}, {"head", {1, 0}}},
               list_of({z[4][1], z[4][0]}));
  expect_equal({{"name", "z"}, {"layer", 0}, {"positions", "3-"}}, {z[3], z[4]});
  expect_equal({{"name", "z"}, {"layer", 0}, {"positions", {0, 2}}, {"from_positions", {2, -1}}},
               {z[2], z[4]});
  expect_equal({{"name", "pattern"}, {"layer", 1}, {"positions", "last"}, {"head", 1}},
               list_of(pattern[1][4]));
  expect_equal({{"name", "pattern"}, {"layer", 1}, {"positions", {4, 2}}, {"head", {1, 0}}},
               {{pattern[1][4], pattern[1][2]}, {pattern[0][4], pattern[0][2]}});
}

/// An array of a file that is not an activation has the axes of `set`.
TEST_F(EditsFromRun, TakeAnyArrayOfAFile) {
  const Words run = {kEditedModel, "--tokens", kEditedText};
  const std::string file = saved({kEditedModel, "--tokens", kOtherText}, "final_norm,resid_post");
  const json by_name = {{"name", "resid_post"},
                        {"layer", 1},
                        {"from_run", {{"file", file}, {"array", "final_norm"}}}};
  std::vector<float> expected =
      logits(run, list_of({{"name", "final_norm"}, {"from_run", {{"file", file}}}}));
  EXPECT_EQ(expected, logits({kEditedModel, "--tokens", kOtherText}));
  json lists = json::array();
  for (std::size_t at = 0; at < 5; ++at) lists.push_back(layer_of(file, "final_norm", at));
  EXPECT_EQ(logits(run, list_of(by_name)),
            logits(run, list_of({{"name", "resid_post"}, {"layer", 1}, {"set", lists}})));
}

TEST_F(EditsFromRun, OfATextEqualItsTokens) {
  const Words run = {kModelWithTokenizer, "--text", "I say that thou"};
  const json row = report_of(Words{"predict", kModelWithTokenizer, "--text", "I say that you"});
  std::vector<std::int64_t> ids;
  for (const json& token : row["models"][0]["tokens"]) ids.push_back(token["id"]);
  const auto edit = [](const json& source) {
    return list_of({{"name", "z"}, {"head", 2}, {"from_run", source}});
  };
  const std::vector<float> found = logits(run, edit({{"text", "I say that you"}}));
  EXPECT_EQ(found, logits(run, edit({{"tokens", ids}})));
  EXPECT_NE(found, logits(run));
}

/// The last layer's output of another image gives the labels of that image.
TEST_F(EditsFromRun, OfAnotherImage) {
  const std::string model = data_path("stacks/vit");
  const Checkpoint images = Checkpoint::open(model + "/images.safetensors");
  const CheckpointTensor& pixels = *images.find("pixel_values.0");
  MediaInput image{.shape = pixels.view.shape, .values = values_of(pixels)};
  const std::string first = folder_.write("first.npy", npy_bytes(image)).string();
  for (float& value : image.values) value *= -0.5F;
  const std::string second = folder_.write("second.npy", npy_bytes(image)).string();
  const auto rows = [&](const std::string& file, const Words& more = {}) {
    return report_of(Words{"predict", model, "--pixel-values", file} + more)["rows"];
  };
  const json edit = {
      {"name", "resid_post"}, {"layer", 1}, {"from_run", {{"pixel_values", second}}}};
  EXPECT_EQ(rows(first, {"--edits", edits(list_of(edit))}), rows(second));
  EXPECT_NE(rows(first), rows(second));
  const Words of_maps = {
      "attention",      model,
      "--pixel-values", first,
      "--edits",        edits(list_of({{"name", "pattern"}, {"from_run", edit["from_run"]}}))};
  expect_computed(of_maps, 1);
  expect_computed(of_maps, 0);
  folder_.write("second.npy", npy_bytes({.shape = image.shape, .values = values_of(pixels)}));
  expect_computed(of_maps, 1);
  const auto refused = [&](const Words& run, const json& source, const Words& said) {
    expect_refusal(run + Words{"--edits", edits(list_of({{"name", "z"}, {"from_run", source}}))},
                   kUsage, said);
  };
  refused({"predict", model, "--pixel-values", first}, {{"tokens", {1, 2, 3, 4, 5}}},
          {"edit 0 ('z')", "takes images, not text"});
  refused({"predict", model, "--pixel-values", first}, {{"audio", first}},
          {"edit 0 ('z')", "from_run has 'audio', but vit takes images"});
  refused({"predict", kEditedModel, "--tokens", kEditedText}, {{"image", first}},
          {"from_run has 'image', but gpt2 takes texts"});
}

/// Values of a decoder's run on another source and target.
TEST_F(EditsFromRun, OfAnEncoderDecoder) {
  const std::string model = data_path("encoder_decoders/t5");
  const Words run = {model, "--tokens", "3,1,4,1,5", "--target-tokens", "0,2,7,1"};
  const Words other = {model, "--tokens", "9,2,6", "--target-tokens", "0,8,2,8"};
  const json source = {{"tokens", {9, 2, 6}}, {"target_tokens", {0, 8, 2, 8}}};
  const std::vector<float> plain = logits(run);
  for (const std::string name : {"z", "cross_z", "resid_post", "final_norm"}) {
    SCOPED_TRACE(name);
    json of_run = {{"name", name}, {"from_run", source}}, of_file = of_run;
    of_file["from_run"] = {{"file", saved(other, name)}};
    const std::vector<float> found = logits(run, list_of(of_run));
    EXPECT_EQ(found, logits(run, list_of(of_file)));
    EXPECT_NE(found, plain);
  }
  EXPECT_EQ(logits(run, list_of({{"name", "final_norm"}, {"from_run", source}})), logits(other));
  const auto refused = [&](const Words& words, const json& from, const Words& said) {
    expect_refusal(Words{"predict"} + words +
                       Words{"--edits", edits(list_of({{"name", "z"}, {"from_run", from}}))},
                   kUsage, said);
  };
  refused(run, {{"tokens", {9, 2, 6}}}, {"from_run has no target", "add target or target_tokens"});
  refused({kEditedModel, "--tokens", kEditedText}, source,
          {"has a target, but gpt2 has no encoder"});
}

/// The edited prompt stays in the cache, and generated tokens are not edited.
TEST_F(EditsFromRun, ApplyToThePromptOnly) {
  for (const std::string name : {"pattern", "k", "resid_post"}) {
    const json edit = {{"name", name}, {"layer", 0}, {"from_run", {{"tokens", json::array({30})}}}};
    json at_first = edit;
    at_first["positions"] = 0;
    const auto generated = [&](const json& each) {
      return report_of({"predict", kEditedModel, "--tokens", "3", "--generate", "6", "--edits",
                        edits(list_of(each))})["models"][0]["generated"];
    };
    EXPECT_EQ(generated(edit), generated(at_first)) << name;
  }
}

TEST_F(EditsFromRun, RefuseFilesInOneLine) {
  const std::string file = saved({kEditedModel, "--tokens", kOtherText}, "z,final_norm");
  const std::string part =
      saved({kEditedModel, "--tokens", kOtherText, "--layers", "1"}, "z", "p.safetensors");
  const std::string cut =
      saved({kEditedModel, "--tokens", kOtherText, "--positions", "last"}, "z", "c.safetensors");
  const std::string one =
      saved({kEditedModel, "--tokens", kOtherText, "--heads", "1"}, "z", "h.safetensors");
  const std::string text = folder_.write("t.safetensors", "{}").string();
  struct Case {
    std::string records;
    int exit_code;
    Words said;
  };
  const auto from_run = [](const std::string& source, const std::string& more = "") {
    return R"([{"name": "z", "layer": 0, )" + more + R"("from_run": )" + source + "}]";
  };
  const auto from_file = [&](const std::string& name, const std::string& more = "") {
    return from_run(R"({"file": ")" + name + "\"}", more);
  };
  const std::vector<Case> cases = {
      {from_run("3"), kBadFile, {"edits.json", "edit 0", "'from_run' is not an object"}},
      {from_run("{}"), kBadFile, {"needs one of text, tokens and file"}},
      {from_run(R"({"text": "a", "tokens": [1]})"), kBadFile, {"needs one of"}},
      {from_run(R"({"target": "a"})"), kBadFile, {"needs one of"}},
      {from_run(R"({"text": "a", "target": "b", "target_tokens": [1]})"),
       kBadFile,
       {"'from_run' has both target and target_tokens"}},
      {from_run(R"({"file": "a.safetensors", "target": "b"})"),
       kBadFile,
       {"a target in 'from_run' requires text, tokens, or an image or audio"}},
      {from_run(R"({"text": 1})"), kBadFile, {"'text' of 'from_run' is not a text"}},
      {from_run(R"({"text": ""})"), kBadFile, {"is not a text"}},
      {from_run(R"({"file": "a\u0000.safetensors"})"), kBadFile, {"null byte"}},
      {from_run(R"({"path": "a"})"), kBadFile, {"unknown key 'path' of 'from_run'"}},
      {from_run(R"({"tokens": []})"), kBadFile, {"'tokens' is an empty list"}},
      {from_run(R"({"tokens": [-1]})"), kBadFile, {"'tokens' is not a number"}},
      {from_run(R"({"tokens": [1e9]})"), kBadFile, {"'tokens' is not a number"}},
      {from_run(R"({"tokens": [1, 2, 3, 4, 480]})"), kUsage, {"--edits: edit 0 ('z')", "480"}},
      {from_run(R"({"tokens": [1, 2, 3]})"),
       kUsage,
       {"edit 0 ('z')", "a run of 3 tokens, but this text has 5"}},
      {from_run(R"({"text": "to be"})"), kUsage, {"no tokenizer"}},
      {from_run(R"({"tokens": [1], "array": "z"})"), kBadFile, {"'array'", "requires 'file'"}},
      {from_run(R"({"tokens": [1]})", R"("set": 1, )"), kBadFile, {"more than one of"}},
      {from_run(R"({"tokens": [1]})", R"("positions": "each-new", )"),
       kBadFile,
       {"no generated tokens"}},
      {from_run(R"({"tokens": [1]})", R"("positions": [0, 1], "from_positions": [0], )"),
       kBadFile,
       {"'from_positions' requires 'positions' with as many entries"}},
      {from_run(R"({"tokens": [1]})", R"("from_positions": [0], )"), kBadFile, {"requires"}},
      {from_run(R"({"tokens": [1]})", R"("positions": 0, "from_positions": [1], )"),
       kUsage,
       {"from_positions has 1, but the run has 1 token"}},
      {R"([{"name": "z", "set": 1, "from_positions": [0]}])", kBadFile, {"requires 'from_run'"}},
      {R"([{"name": "z", "set": 1, "head": [1, 1]}])", kBadFile, {"lists a head twice"}},
      {R"([{"name": "z", "set": 1, "positions": [1e300]}])", kBadFile, {"not a position"}},
      {R"([{"name": "rot_q", "from_run": {"tokens": [1]}}])", kUsage, {"has no 'rot_q'"}},
      {from_file(path("none.safetensors")), kIo, {"none.safetensors"}},
      {from_file(path("edits.json")), kBadFile, {"edit 0 ('z')", "is not a .safetensors file"}},
      {from_file(text), kBadFile, {"t.safetensors"}},
      {from_file(part), kBadFile, {"p.safetensors", "no 'z' of layer 0"}},
      {from_file(cut), kBadFile, {"kept only some positions"}},
      {from_file(one), kBadFile, {"kept only some heads"}},
      {from_file(file, R"("head": 7, )"), kUsage, {"the run in from_run has heads 0 to 2"}},
      {from_run(R"({"file": ")" + file + R"(", "array": "q"})"),
       kBadFile,
       {"run.safetensors", "no array 'q'", "it has "}},
      {from_run(R"({"file": ")" + file + R"(", "array": "tokens"})"),
       kBadFile,
       {"'tokens' has elements of type"}},
      {from_run(R"({"file": ")" + file + R"(", "array": "final_norm"})"),
       kUsage,
       {"edit 0 ('z')", "does not fit"}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.records);
    const std::string list = folder_.write("edits.json", each.records).string();
    expect_refusal({"predict", kEditedModel, "--tokens", kEditedText, "--edits", list},
                   each.exit_code, each.said);
  }
  // A file that is read is not overwritten.
  const std::string list = folder_.write("edits.json", from_file(file)).string();
  expect_refusal(
      {"predict", kEditedModel, "--tokens", kEditedText, "--edits", list, "--save", file}, kUsage,
      {"run.safetensors"});
}

}  // namespace
}  // namespace attnscope::test
