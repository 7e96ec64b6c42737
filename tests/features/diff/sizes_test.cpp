// `diff` of models that differ in depth, hidden size, heads or files: what cannot be compared is
// skipped with a reason, whichever model is the base.
#include <filesystem>

#include "tests/support/program.h"
#include "tests/support/safetensors_writer.h"

namespace attnscope::test {
namespace {

class DiffOfSizes : public ::testing::Test {
 protected:
  /// A Llama without the tensors whose names contain an entry of `without`. `before`: prefix of all
  /// tensor names.
  std::string model(const std::string& name, const json& changes = {}, const Words& without = {},
                    const std::string& before = "model.",
                    const std::vector<TensorToWrite>& more = {}) const {
    json config = {{"model_type", "llama"},
                   {"architectures", {"LlamaForCausalLM"}},
                   {"hidden_size", 8},
                   {"intermediate_size", 12},
                   {"num_hidden_layers", 2},
                   {"num_attention_heads", 2},
                   {"num_key_value_heads", 2},
                   {"head_dim", 4},
                   {"vocab_size", 5},
                   {"max_position_embeddings", 16},
                   {"tie_word_embeddings", true}};
    if (!changes.is_null()) config.update(changes);
    const auto of = [&](const char* key) { return config[key].get<std::int64_t>(); };
    const std::int64_t width = of("hidden_size"), inner = of("intermediate_size");
    const std::int64_t keys = of("num_key_value_heads") * of("head_dim");
    const std::int64_t values = of("num_attention_heads") * of("head_dim");
    std::vector<TensorToWrite> tensors = {
        counting_tensor(before + "embed_tokens.weight", {5, width}),
        counting_tensor(before + "norm.weight", {width})};
    for (std::int64_t layer = 0; layer < of("num_hidden_layers"); ++layer) {
      const std::string at = before + "layers." + std::to_string(layer) + ".";
      tensors.push_back(counting_tensor(at + "input_layernorm.weight", {width}));
      tensors.push_back(counting_tensor(at + "post_attention_layernorm.weight", {width}));
      const std::pair<const char*, Shape> matrices[] = {
          {"self_attn.q_proj", {values, width}}, {"self_attn.k_proj", {keys, width}},
          {"self_attn.v_proj", {keys, width}},   {"self_attn.o_proj", {width, values}},
          {"mlp.gate_proj", {inner, width}},     {"mlp.up_proj", {inner, width}},
          {"mlp.down_proj", {width, inner}}};
      for (const auto& [matrix, shape] : matrices) {
        tensors.push_back(counting_tensor(at + matrix + ".weight", shape));
      }
    }
    std::erase_if(tensors, [&](const TensorToWrite& tensor) {
      return std::any_of(without.begin(), without.end(),
                         [&](const std::string& part) { return contains(tensor.name, part); });
    });
    tensors.insert(tensors.end(), more.begin(), more.end());
    folder_.write(name + "/config.json", config.dump());
    folder_.write(name + "/model.safetensors", safetensors_bytes(tensors));
    return (folder_.path() / name).string();
  }

  /// Skipped entries as "layer matrix: reason".
  static Words skipped_of(const Words& arguments) {
    Words out;
    const json report = report_of(arguments + Words{"--quiet"});
    for (const json& one : report["skipped"]) {
      out.push_back(one["layer"].dump() + " " + one["matrix"].get<std::string>() + ": " +
                    one["reason"].get<std::string>());
    }
    return out;
  }

  const TempFolder folder_;
};

TEST_F(DiffOfSizes, SkipsLayersOfOnlyOneModel) {
  const std::string two = model("two"), three = model("three", {{"num_hidden_layers", 3}});
  const Words all = {"q", "k", "v", "o", "gate", "up", "down"};
  Words extra, lost;
  for (const std::string& matrix : all) {
    extra.push_back("2 " + matrix + ": two has no such layer");
    lost.push_back("2 " + matrix + ": two has no such layer");
  }
  EXPECT_EQ(skipped_of({"diff", two, three}), extra);
  EXPECT_EQ(skipped_of({"diff", three, two}), lost);
  EXPECT_EQ(skipped_of({"diff", two, three, "--matrix", "o", "--per-head"}),
            Words{"2 o: two has no such layer"});
  EXPECT_EQ(skipped_of({"diff", two, three, "--layers", "0"}), Words{});
  const RunResult run = run_attnscope({"diff", two, three});
  EXPECT_TRUE(contains(run.err, "three has 3 layers, but two has 2")) << run.err;
  EXPECT_TRUE(contains(run.err, "three adds 2 tensors other than matrices")) << run.err;
}

TEST_F(DiffOfSizes, SkipsAMatrixThatOneModelLacks) {
  const std::string whole = model("whole");
  const std::string part = model("part", {}, {"layers.1.mlp.up_proj"});
  for (const Words& pair : {Words{whole, part}, Words{part, whole}}) {
    const Words skipped = skipped_of(Words{"diff"} + pair);
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_TRUE(skipped[0].starts_with("1 up: ")) << skipped[0];
    EXPECT_TRUE(contains(skipped[0], "model.layers.1.mlp.up_proj.weight")) << skipped[0];
  }
  // A matrix that all layers of one model, or of both models, lack.
  const std::string none = model("none", {}, {"mlp.up_proj"});
  EXPECT_EQ(skipped_of({"diff", none, whole}).size(), 2u);
  EXPECT_EQ(skipped_of({"diff", whole, none}).size(), 2u);
  const std::string copy = model("copy", {}, {"layers.1.mlp.up_proj"});
  EXPECT_EQ(skipped_of({"diff", part, copy}).size(), 1u);
}

TEST_F(DiffOfSizes, NamesDifferentShapes) {
  const std::string narrow = model("narrow"), wide = model("wide", {{"intermediate_size", 16}});
  const Words skipped = skipped_of({"diff", narrow, wide, "--layers", "0"});
  EXPECT_EQ(skipped, (Words{"0 gate: has a different shape than in narrow: [16, 8], not [12, 8]",
                            "0 up: has a different shape than in narrow: [16, 8], not [12, 8]",
                            "0 down: has a different shape than in narrow: [8, 16], not [8, 12]"}));
}

/// Four heads of 2 differ from two heads of 4, although the matrices have the same shape.
TEST_F(DiffOfSizes, SkipsHeadsOfDifferentSizes) {
  const std::string two = model("two");
  const json halves = {{"num_attention_heads", 4}, {"num_key_value_heads", 4}, {"head_dim", 2}};
  const std::string four = model("four", halves);
  const Words words = {"diff", two, four, "--matrix", "q", "--layers", "0", "--per-head"};
  EXPECT_EQ(skipped_of(words), Words{"0 q: has 4 heads, but 2 in two: heads are not compared"});
  EXPECT_EQ(report_of(words + Words{"--quiet"})["rows"].size(), 1u);
}

/// The tensor names of the second checkpoint lack the prefix of the architecture.
TEST_F(DiffOfSizes, MatchesNamesWithoutThePrefix) {
  const std::string usual = model("usual"), bare = model("bare", {}, {}, "");
  for (const Words& pair : {Words{usual, bare}, Words{bare, usual}}) {
    EXPECT_EQ(skipped_of(Words{"diff"} + pair), Words{});
    EXPECT_EQ(
        output_of(Words{"diff"} + pair + Words{"--matrix", "q", "--format", "csv"}),
        output_of(Words{"diff"} + pair + Words{"--matrix", "q", "--format", "csv", "--quiet"}));
  }
}

/// Writes an adapter. Returns the notes of the run and the adapter's config.
class DiffIntoAdapter : public DiffOfSizes {
 protected:
  std::string path_of(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string write_adapter(const std::string& base, const std::string& tuned) const {
    const RunResult run =
        run_attnscope({"diff", base, tuned, "--lora", path_of("lora"), "--matrix", "q"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.err;
  }

  json config_of_adapter() const {
    return json::parse(read_file(path_of("lora/adapter_config.json")));
  }

  const Words changed_ = {"layers.0.self_attn.q_proj"};
  const TensorToWrite query_ =
      zero_tensor("model.layers.0.self_attn.q_proj.weight", "F32", 32, {8, 8});
};

TEST_F(DiffIntoAdapter, SavesAHeadThatOnlyOneModelTies) {
  const TensorToWrite head = zero_tensor("lm_head.weight", "F32", 32, {5, 8});
  const std::string tied = model("tied");
  const std::string untied =
      model("untied", {{"tie_word_embeddings", false}}, changed_, "model.", {query_, head});
  write_adapter(tied, untied);
  EXPECT_EQ(config_of_adapter()["modules_to_save"], json({"lm_head"}));
  const RunResult back = run_attnscope({"diff", tied, path_of("lora"), "--matrix", "q"});
  EXPECT_TRUE(contains(back.err, "'lm_head.weight', differs from the embedding")) << back.err;
  std::filesystem::remove_all(path_of("lora"));
  const std::string said = write_adapter(untied, tied);
  EXPECT_EQ(config_of_adapter()["modules_to_save"], json({"lm_head"}));
  EXPECT_FALSE(contains(said, "not part of the adapter")) << said;
  std::filesystem::remove_all(path_of("lora"));
  // A separate tensor with the same values is not a change.
  const std::string same = model("same", {{"tie_word_embeddings", false}}, changed_, "model.",
                                 {query_, counting_tensor("lm_head.weight", {5, 8})});
  write_adapter(tied, same);
  EXPECT_EQ(config_of_adapter()["modules_to_save"], nullptr);
}

TEST_F(DiffIntoAdapter, NotesWhatAnAdapterCannotStore) {
  const std::string sinks = "model.layers.0.self_attn.sinks";
  const std::string base = model("base", {}, {}, "model.", {zero_tensor(sinks, "F32", 32, {2})});
  const std::string tuned = model("tuned", {}, changed_, "model.",
                                  {query_, counting_tensor(sinks, {2}),
                                   counting_tensor("model.layers.0.self_attn.q_proj.bias", {8})});
  const std::string said = write_adapter(base, tuned);
  EXPECT_TRUE(contains(said, "'" + sinks + "' is not part of the adapter")) << said;
  EXPECT_TRUE(contains(said, "'model.layers.0.self_attn.q_proj.bias' is not part of the adapter"))
      << said;
  EXPECT_TRUE(contains(said, "1 tensor of tuned that base does not have")) << said;
  EXPECT_EQ(config_of_adapter()["modules_to_save"], nullptr);
  EXPECT_EQ(config_of_adapter()["bias"], "none");
}

TEST_F(DiffIntoAdapter, NamesWithoutThePrefixGiveTheSameAdapter) {
  const std::string tuned = model("tuned", {}, changed_, "model.", {query_});
  TensorToWrite query = query_;
  query.name = query.name.substr(6);
  const std::string bare = model("bare", {}, changed_, "", {query});
  const std::string said = write_adapter(model("base"), bare);
  EXPECT_FALSE(contains(said, "not part of the adapter")) << said;
  const std::string saved = read_file(path_of("lora/adapter_model.safetensors"));
  std::filesystem::remove_all(path_of("lora"));
  write_adapter(model("base"), tuned);
  EXPECT_EQ(read_file(path_of("lora/adapter_model.safetensors")), saved);
}

}  // namespace
}  // namespace attnscope::test
