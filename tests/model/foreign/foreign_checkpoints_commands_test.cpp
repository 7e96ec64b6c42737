// Checkpoints of other programs than transformers. Expected values: tools/golden_foreign.py.
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/decode.h"
#include "tests/support/program.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// Largest singular values are of order 1, from float32 weights that are exact in float64.
constexpr double kSpectrumTolerance = 1e-6;
/// The float32 error of a forward pass is about a tenth of this.
constexpr double kLogitTolerance = 1e-4;

std::string foreign(const std::string& name) { return data_path("foreign/" + name); }

json golden_of(const std::string& name) {
  return json::parse(read_file(foreign(name) + "/golden.json"));
}

void expect_spectrum(const Words& arguments, const json& wanted) {
  const json rows = report_of(Words{"spectrum"} + arguments + Words{"--values", "--quiet"})["rows"];
  ASSERT_EQ(rows.size(), 1u);
  const auto got = rows[0]["singular_values"].get<std::vector<double>>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t rank = 0; rank < got.size(); ++rank) {
    EXPECT_NEAR(got[rank], wanted[rank].get<double>(), kSpectrumTolerance) << rank;
  }
}

/// The most likely tokens or labels have the logits of the program.
void expect_logits(const Words& arguments, const json& wanted, const char* id) {
  const json rows = report_of(Words{"predict"} + arguments + Words{"--quiet"})["rows"];
  ASSERT_FALSE(rows.empty());
  for (const json& row : rows) {
    EXPECT_NEAR(row["logit"].get<double>(), wanted[row[id].get<std::size_t>()].get<double>(),
                kLogitTolerance)
        << row;
  }
}

/// The last values of a tensor that `predict` saves.
void expect_saved(const Words& arguments, const char* tensor, const json& wanted) {
  const TempFolder temp;
  const std::string file = (temp.path() / "saved.safetensors").string();
  output_of(Words{"predict"} + arguments + Words{"--save", file, "--quiet"});
  const Checkpoint saved = Checkpoint::open(file);
  const CheckpointTensor* found = saved.find(tensor);
  ASSERT_NE(found, nullptr);
  std::int64_t count = 1;
  for (const std::int64_t size : found->view.shape) count *= size;
  const std::int64_t wanted_count = std::ssize(wanted);
  ASSERT_GE(count, wanted_count);
  std::vector<float> got(wanted.size());
  decode_elements(found->view, count - wanted_count, 1, wanted_count, got.data());
  for (std::size_t at = 0; at < got.size(); ++at) {
    EXPECT_NEAR(got[at], wanted[at].get<double>(), kLogitTolerance) << at;
  }
}

TEST(CliForeign, TextModelsEqualTheirProgram) {
  for (const std::string name :
       {"nanogpt", "consolidated-2", "npz-compressed", "litgpt", "distributed"}) {
    SCOPED_TRACE(name);
    const json golden = golden_of(name);
    expect_logits({foreign(name), "--tokens", "3,7,1,9,4"}, golden["logits"], "token_id");
    expect_spectrum({foreign(name), "--matrix", "k", "--layers", "1"}, golden["spectra"]["k"]);
  }
}

TEST(CliForeign, ModelsOfFairseqEqualTransformers) {
  const std::string roberta = foreign("fairseq-roberta"), bart = foreign("fairseq-bart");
  const json of_roberta = golden_of("fairseq-roberta"), of_bart = golden_of("fairseq-bart");
  expect_saved({roberta, "--tokens", "3,7,1,9,4"}, "logits", of_roberta["logits"]);
  expect_spectrum({roberta, "--matrix", "k", "--layers", "1"}, of_roberta["spectra"]["k"]);
  expect_logits({bart, "--tokens", "3,7,1,9,4", "--target-tokens", "3,7,1,9,4"}, of_bart["logits"],
                "token_id");
  expect_spectrum({bart + ":cross", "--matrix", "k", "--layers", "1"}, of_bart["spectra"]["k"]);
}

/// GPT-NeoX keeps Q, K and V of each head together; LitGPT does not.
TEST(CliForeign, LitGptOfPythiaEqualsItsProgram) {
  const json golden = golden_of("litgpt-pythia");
  expect_logits({foreign("litgpt-pythia"), "--tokens", "3,7,1,9,4"}, golden["logits"], "token_id");
}

TEST(CliForeign, RefusesOtherModelsOfLitGpt) {
  const TempFolder temp;
  fs::copy(foreign("litgpt"), temp.path(), fs::copy_options::recursive);
  const std::string text = read_file(foreign("litgpt") + "/model_config.yaml");
  for (const std::string line :
       {"norm_qk: true", "scale_embeddings: true", "bias: true", "mlp_class_name: GemmaMLP",
        "n_head: 1", "n_head: 2000000", "rope_condense_ratio: far", "n_embd:"}) {
    SCOPED_TRACE(line);
    temp.write("model_config.yaml", text + line + "\n");
    const RunResult run = run_attnscope({"spectrum", temp.path().string()});
    EXPECT_NE(run.exit_code, 0);
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
  }
  // info lists the tensors of variants, but reports damaged settings.
  temp.write("model_config.yaml", text + "norm_qk: true\n");
  const RunResult listed = run_attnscope({"info", temp.path().string()});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_TRUE(contains(listed.err, "'norm_qk' makes it neither a Llama")) << listed.err;
  temp.write("model_config.yaml", "");
  expect_refusal({"info", temp.path()}, kBadFile, {"model_config.yaml: 'n_embd' is missing"});
}

TEST(CliForeign, WeightsOfOtherModelsEqualTheirProgram) {
  expect_spectrum({foreign("whisper") + ":decoder", "--matrix", "k"},
                  golden_of("whisper")["spectra"]["k"]);
  expect_spectrum({foreign("whisper") + ":cross", "--matrix", "q"},
                  golden_of("whisper")["spectra"]["cross_q"]);
  expect_spectrum({foreign("timm"), "--matrix", "k"}, golden_of("timm")["spectra"]["k"]);
  expect_spectrum({foreign("open_clip") + ":text", "--matrix", "k"},
                  golden_of("open_clip")["spectra"]["k"]);
  expect_spectrum({foreign("open_clip") + ":vision", "--matrix", "v"},
                  golden_of("open_clip")["spectra"]["vision_v"]);
  expect_spectrum({foreign("onnx"), "--matrix", "k"}, golden_of("onnx")["spectra"]["k"]);
  expect_spectrum({foreign("onnx"), "--matrix", "up"}, golden_of("onnx")["spectra"]["up"]);
}

TEST(CliForeign, WhisperDecodesItsEncoderOutput) {
  expect_logits({foreign("whisper"), "--features", foreign("whisper") + "/features.npy",
                 "--target-tokens", "3,7,1,9,4"},
                golden_of("whisper")["logits"], "token_id");
}

TEST(CliForeign, ImagesGiveTheEmbeddingOfOpenClip) {
  expect_saved(
      {foreign("open_clip") + ":vision", "--pixel-values", foreign("open_clip") + "/pixels.npy"},
      "image_embedding", golden_of("open_clip")["logits"]);
}

TEST(CliForeign, ImagesGiveTheLabelsOfTimm) {
  expect_logits({foreign("timm"), "--pixel-values", foreign("timm") + "/pixels.npy"},
                golden_of("timm")["logits"], "label_id");
}

TEST(CliForeign, RefusesWhatItDoesNotKnow) {
  const TempFolder temp;
  fs::copy(foreign("open_clip") + "/open_clip_pytorch_model.bin", temp.path());
  expect_refusal({"spectrum", temp.path()}, kIo, {"require their open_clip_config.json"});

  const TempFolder experts;
  fs::copy(foreign("consolidated-2"), experts.path(), fs::copy_options::recursive);
  json params = json::parse(read_file(experts.path() / "params.json"));
  params["n_heads"] = 8;
  std::ofstream(experts.path() / "params.json") << params;
  expect_refusal({"spectrum", experts.path()}, kBadFile, {"expected 4 rows"});
  params["moe"] = {{"num_experts", 2}};
  std::ofstream(experts.path() / "params.json") << params;
  expect_refusal({"spectrum", experts.path()}, kUnsupported, {"variant of consolidated files"});
}

TEST(CliForeign, NamesFoldersOfOtherThings) {
  const struct {
    const char* file;
    const char* said;
    const char* next;
  } cases[] = {{"model_index.json", "is a pipeline of diffusers", "pass the subfolder"},
               {"checkpoint-20/config.json", "checkpoints of a training run", "checkpoint-20"},
               {"__0_0.distcp", "distributed checkpoint of PyTorch", "copy the .metadata"},
               {"mp_rank_00/x", "ranks of a Megatron checkpoint", "convert it"},
               {"bert_model.ckpt.index", "contains a TensorFlow checkpoint", "convert it"}};
  for (const auto& [file, said, next] : cases) {
    SCOPED_TRACE(file);
    const TempFolder temp;
    fs::create_directories((temp.path() / file).parent_path());
    std::ofstream(temp.path() / file) << "x";
    expect_refusal({"info", temp.path()}, kUnsupported, {said, next});
  }
  const TempFolder temp;
  std::ofstream(temp.path() / "model.bin") << "lmggxxxxxxxxxxxxxxxx";
  expect_refusal({"info", temp.path()}, kUnsupported, {"is a GGML file, the format before GGUF"});
}

TEST(CliForeign, SuggestsTensorNames) {
  expect_refusal({"spectrum", foreign("nanogpt"), "--tensor", "h.1.attn.c_attn"}, kUsage,
                 {"similar: 'transformer.h.1.attn.c_attn.weight'"});
}

}  // namespace
}  // namespace attnscope::test
