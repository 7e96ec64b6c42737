// Commands on images and audio: results equal those of transformers, and invalid files are rejected
// in one line. Expected values: tools/golden_images.py, tools/golden_audio.py.
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include "attnscope/checkpoint/checkpoint.h"
#include "tests/forward/golden_comparison.h"
#include "tests/support/golden_variants.h"
#include "tests/support/npy.h"
#include "tests/support/refusals.h"

namespace attnscope::test {
namespace {

std::string stack_path(const std::string& name) { return data_path("stacks/" + name); }
std::string image_path(const std::string& name) { return data_path("images/" + name); }

std::vector<float> golden_values(const Checkpoint& golden, const std::string& name) {
  const CheckpointTensor* found = golden.find(name);
  return found == nullptr ? std::vector<float>() : values_of(*found);
}

TokenIds saved_tokens(const Checkpoint& saved) {
  const std::span<const std::byte> bytes = saved.find("tokens")->view.bytes;
  TokenIds ids(bytes.size() / sizeof(std::int64_t));
  std::memcpy(ids.data(), bytes.data(), bytes.size());
  return ids;
}

/// A PNG that declares `size` rows and columns.
std::string with_size(std::string png, std::uint32_t size) {
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) png[at++] = static_cast<char>(value >> shift);
  };
  put(16, size);
  put(20, size);
  const auto* header = reinterpret_cast<const Bytef*>(png.data() + 12);
  put(29, static_cast<std::uint32_t>(crc32(0, header, 17)));
  return png;
}

/// Files with the inputs of golden checkpoints.
class CliMedia : public testing::Test {
 protected:
  std::string file_of(const MediaInput& media_input, const std::string& name = "input.npy") const {
    folder_.write(name, npy_bytes(media_input));
    return path(name);
  }
  std::string file_of(const Checkpoint& golden, const std::string& name) const {
    const CheckpointTensor* tensor = golden.find(name);
    EXPECT_NE(tensor, nullptr) << name;
    return file_of({.shape = tensor->view.shape, .values = values_of(*tensor)});
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  TempFolder folder_;
};

TEST_F(CliMedia, ImageLabelsHaveTheLogitsOfTransformers) {
  for (const std::string model :
       {"vit", "deit-taught", "dinov2-labels", "swin", "swinv2", "donut-swin"}) {
    SCOPED_TRACE(model);
    const auto golden = Checkpoint::open(stack_path(model) + "/images.safetensors");
    const json report = report_of(
        {"predict", stack_path(model), "--pixel-values", file_of(golden, "pixel_values.0")});
    const std::vector<float> logits = golden_values(golden, "pooled.0");
    ASSERT_EQ(report["rows"].size(), logits.size());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    for (const json& row : report["rows"]) {
      const auto logit = static_cast<double>(logits.at(row["label_id"].get<std::size_t>()));
      EXPECT_NEAR(row["logit"].get<double>(), logit, kStatesTolerance * 10);
      EXPECT_NEAR(row["probability"].get<double>(), std::exp(logit) / sum, 1e-4);
    }
    EXPECT_GE(report["rows"][0]["logit"], report["rows"][1]["logit"]);
  }
}

TEST_F(CliMedia, PatchDistancesEqualNumPy) {
  for (const std::string model : {"vit", "dinov2", "dinov3_vit-registers"}) {
    const auto golden = Checkpoint::open(stack_path(model) + "/images.safetensors");
    for (int at = 0; golden.find("pixel_values." + std::to_string(at)) != nullptr; ++at) {
      SCOPED_TRACE(model + " " + std::to_string(at));
      const std::string end = "." + std::to_string(at);
      const json report = report_of({"attention", stack_path(model), "--pixel-values",
                                     file_of(golden, "pixel_values" + end)});
      const std::vector<float> wanted = golden_values(golden, "patch_distance" + end);
      std::size_t heads = 0;
      for (const json& row : report["rows"]) {
        if (row["head"].is_null()) continue;
        // float32 maps are within 5e-5 of the golden maps, and distances are at most 21 patches.
        EXPECT_NEAR(row["patch_distance"].get<double>(), static_cast<double>(wanted.at(heads++)),
                    5e-4);
      }
      EXPECT_EQ(heads, wanted.size());
    }
  }
}

/// Several files, or one array.
TEST_F(CliMedia, SeveralImagesAreSequences) {
  const auto golden = Checkpoint::open(stack_path("vit") + "/images.safetensors");
  MediaInput both{.shape = {2, 3, 16, 16}, .values = golden_values(golden, "pixel_values.0")};
  for (const float value : golden_values(golden, "pixel_values.1")) both.values.push_back(value);
  const auto ranks = [&](const std::string& file) {
    std::vector<double> out;
    const json report = report_of({"attention", stack_path("vit"), "--pixel-values", file});
    for (const json& row : report["rows"]) {
      if (!row["head"].is_null()) out.push_back(row["entropy"]);
    }
    return out;
  };
  const auto mean = ranks(file_of(both));
  const auto first = ranks(file_of(golden, "pixel_values.0"));
  const auto second = ranks(file_of(golden, "pixel_values.1"));
  ASSERT_EQ(mean.size(), 8U);
  for (std::size_t at = 0; at < mean.size(); ++at) {
    EXPECT_NEAR(mean[at], (first[at] + second[at]) / 2, 1e-6);
  }
  expect_refusal({"predict", stack_path("vit"), "--pixel-values", file_of(both)}, kUsage,
                 {"contains 2 inputs", "input.npy"});
}

TEST_F(CliMedia, SavedTensorsEqualTransformers) {
  const std::map<std::string, std::string> cases = {{"vit", "images"},
                                                    {"dinov3_vit-registers", "images"},
                                                    {"wav2vec2", "audio"},
                                                    {"hubert", "audio"},
                                                    {"whisper", "audio"}};
  for (const auto& [model, kind] : cases) {
    SCOPED_TRACE(model);
    const auto golden = Checkpoint::open(stack_path(model) + "/" + kind + ".safetensors");
    const bool seen = kind == "images";
    const std::string input = seen ? "pixel_values" : "input_values";
    const std::string saved = path("run.safetensors"), maps = path("maps.safetensors");
    const Words run = {seen ? "--pixel-values" : "--features", file_of(golden, input + ".0")};
    Words one = {stack_path(model)};
    if (model == "whisper") one = one + Words{"--stack", "encoder"};
    for (const Words& command : {Words{"predict"} + one + run + Words{"--save", saved},
                                 Words{"attention"} + one + run + Words{"--maps", maps}}) {
      const RunResult result = run_attnscope(command);
      ASSERT_EQ(result.exit_code, 0) << result.err;
    }
    const auto got = Checkpoint::open(saved), kept = Checkpoint::open(maps);
    EXPECT_EQ(golden_values(got, input), golden_values(golden, input + ".0"));
    EXPECT_LE(
        error_of(golden_values(got, "hidden_states"), golden_values(golden, "hidden_states.0"), 3),
        kStatesTolerance);
    for (const Checkpoint* file : {&got, &kept}) {
      EXPECT_LE(
          error_of(golden_values(*file, "attentions"), golden_values(golden, "attentions.0"), 2),
          kMapsTolerance);
    }
    EXPECT_EQ(kept.find("tokens"), nullptr);
  }
}

TEST_F(CliMedia, AnImageMapHasNoTokens) {
  const Words command = {"attention",           stack_path("vit"), "--image",
                         image_path("odd.png"), "--heatmap",       "1,2"};
  const json report = report_of(command);
  ASSERT_EQ(report["rows"].size(), 5U);
  EXPECT_TRUE(report["rows"][4]["token"].is_null());
  EXPECT_EQ(report["rows"][4]["query"], 4);
  EXPECT_EQ(report["rows"][4]["weights"].size(), 5U);
  const RunResult drawn = run_attnscope(command);
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  EXPECT_TRUE(contains(drawn.out, "5 positions")) << drawn.out;
}

TEST_F(CliMedia, ReadsImageAndAudioFiles) {
  for (const std::string picture : {"odd.png", "grey.jpg", "turned6.jpg", "palette.png"}) {
    const json report = report_of({"predict", stack_path("vit"), "--image", image_path(picture)});
    EXPECT_EQ(report["parameters"]["input"], picture);
    EXPECT_EQ(report["models"][0]["patches"], (json{{"rows", 2}, {"columns", 2}, {"before", 1}}));
  }
  const RunResult gray =
      run_attnscope({"predict", stack_path("vit"), "--image", image_path("grey16.png")});
  EXPECT_EQ(gray.exit_code, 0);
  EXPECT_TRUE(contains(gray.err, "grey16.png: 16-bit gray values")) << gray.err;
  const json audio =
      report_of({"attention", stack_path("wav2vec2"), "--audio", data_path("audio/steps.wav")});
  EXPECT_EQ(audio["parameters"]["source"], "steps.wav");
  EXPECT_EQ(audio["rows"].size(), 10U);
}

/// Truncated, of another kind, too large or empty files: each gives one line that names the file.
TEST_F(CliMedia, RejectsUntrustedFiles) {
  const auto write = [&](const std::string& name, const std::string& bytes) {
    folder_.write(name, bytes);
    return path(name);
  };
  const std::string png = read_file(image_path("odd.png"));
  const std::string jpeg = read_file(image_path("tall.jpg"));
  const std::string wave = read_file(data_path("audio/chirp.wav"));
  const std::string huge = with_size(png, 100'000), empty = with_size(png, 0);
  std::string fast = wave;
  fast.replace(24, 4, std::string("\x44\xac\0\0", 4));  // 44100 Hz
  std::string both = wave;
  both[22] = 2;  // number of channels
  const Words image = {"predict", stack_path("vit"), "--image"};
  const Words audio = {"predict", stack_path("wav2vec2"), "--audio"};
  const Words pixels = {"predict", stack_path("vit"), "--pixel-values"};
  const Words features = {"attention", stack_path("wav2vec2"), "--features"};
  const auto at = [&](const Words& command, const std::string& file) {
    return command + Words{file};
  };
  MediaInput not_finite{.shape = {3, 16, 16}, .values = std::vector<float>(768, 0)};
  not_finite.values[5] = NAN;
  expect_refusals(
      kBadFile,
      {{"a cut PNG",
        at(image, write("cut.png", png.substr(0, png.size() / 2))),
        {"cut.png", "is truncated"}},
       {"a cut JPEG",
        at(image, write("cut.jpg", jpeg.substr(0, 300))),
        {"cut.jpg", "damaged JPEG"}},
       {"no picture",
        at(image, write("text.png", "hello")),
        {"text.png", "neither a PNG nor a JPEG"}},
       {"CMYK", at(image, image_path("four-inks.jpeg")), {"four-inks.jpeg", "CMYK"}},
       {"no pixels", at(image, write("none.png", empty)), {"none.png", "damaged PNG"}},
       {"an empty file", at(image, write("empty.png", "")), {"empty.png", "is empty"}},
       {"a cut sound", at(audio, write("cut.wav", wave.substr(0, 30))), {"cut.wav"}},
       {"no sound", at(audio, write("text.wav", "hello")), {"text.wav", "is not a WAV file"}},
       {"no array", at(pixels, write("text.npy", "hello")), {"text.npy", "does not begin"}},
       {"axes of another input",
        at(pixels, file_of({.shape = {4}, .values = {1, 2, 3, 4}})),
        {"input.npy", "has shape [4], expected 3 axes, or 4 for several inputs"}},
       {"images of which there are none",
        at(pixels, file_of({.shape = {0, 3, 8, 8}, .values = {}}, "none.npy")),
        {"none.npy", "has shape [0, 3, 8, 8], expected at least one value"}},
       {"pixels that are not finite",
        at(pixels, file_of(not_finite, "nan.npy")),
        {"nan.npy", "value 5", "NaN"}},
       {"samples that are not finite",
        at(features, file_of({.shape = {2}, .values = {0, INFINITY}}, "inf.npy")),
        {"inf.npy", "value 1"}}});
  expect_refusals(
      kUnsupported,
      {{"10^10 pixels", at(image, write("huge.png", huge)), {"huge.png", "above the limit"}},
       {"another rate", at(audio, write("fast.wav", fast)), {"fast.wav", "44100", "16"}},
       {"two channels", at(audio, write("both.wav", both)), {"both.wav", "channels"}}});
  expect_refusals(kUsage,
                  {{"another size",
                    at(pixels, file_of({.shape = {3, 8, 8}, .values = std::vector<float>(192, 0)},
                                       "small.npy")),
                    {"16"}},
                   {"too short",
                    at(features, file_of({.shape = {3}, .values = {0, 0, 0}}, "short.npy")),
                    {"too short"}},
                   {"another kind of model",
                    {"predict", stack_path("vit"), "--audio", "x.wav"},
                    {"--audio", "takes images, not sound"}},
                   {"a text for images",
                    {"attention", stack_path("vit"), "--tokens", "1,2"},
                    {"--image: missing input"}},
                   {"text beside an image",
                    {"attention", stack_path("vit"), "--image", "x.png", "--text", "a"},
                    {"--image", "--text"}},
                   {"text that is written of an image",
                    at(image, image_path("odd.png")) + Words{"--generate", "3"},
                    {"--generate", "requires an encoder-decoder"}},
                   {"a target of an image",
                    at(image, image_path("odd.png")) + Words{"--target-tokens", "3"},
                    {"--target-tokens"}},
                   {"texts for labels",
                    at(image, image_path("odd.png")) + Words{"--text", "a cat"},
                    {"--text", "has no text stack"}}});
  expect_refusal(at(image, path("absent.png")), kIo, {"absent.png"});
}

/// A decoder with cross-attention to an audio encoder.
class CliWhisper : public CliMedia {
 protected:
  const std::string model_ = data_path("encoder_decoders/whisper");
  const Checkpoint golden_ = Checkpoint::open(model_ + "/expected.safetensors");
  const Words heard_ = {"--features", file_of(golden_, "features.0")};
  std::string target() const {
    std::string text;
    for (const std::int64_t id : ids_of(*golden_.find("targets.0"))) {
      text += (text.empty() ? "" : ",") + std::to_string(id);
    }
    return text;
  }
};

TEST_F(CliWhisper, MeasuresOfCrossAttentionEqualNumPy) {
  const json wanted = json::parse(read_file(model_ + "/measures.json"));
  const json report =
      report_of(Words{"attention", model_, "--target-tokens", target(), "--quiet"} + heard_);
  EXPECT_EQ(report["models"].size(), 3U);
  EXPECT_EQ(report["parameters"]["target_length"], wanted["target"].size());
  std::map<std::string, json> rows;
  for (const json& row : report["rows"]) {
    if (row["stack"] == "cross" && !row["head"].is_null()) {
      rows[row["layer"].dump() + " " + row["head"].dump()] = row;
    }
  }
  ASSERT_EQ(rows.size(), wanted["rows"].size());
  for (const json& each : wanted["rows"]) {
    const json& row = rows.at(each["layer"].dump() + " " + each["head"].dump());
    for (const auto& [field, value] : each.items()) {
      EXPECT_NEAR(row[field].get<double>(), value.get<double>(), 5e-4) << field << row;
    }
  }
}

TEST_F(CliWhisper, SavedTensorsEqualTransformers) {
  const std::string file = path("run.safetensors");
  const RunResult run = run_attnscope(
      Words{"predict", model_, "--save", file, "--target-tokens", target(), "--quiet"} + heard_);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Checkpoint saved = Checkpoint::open(file);
  EXPECT_EQ(golden_values(saved, "input_values"), golden_values(golden_, "features.0"));
  EXPECT_EQ(saved_tokens(saved), ids_of(*golden_.find("targets.0")));
  for (const char* tensor : {"logits", "hidden_states", "attentions", "cross_attentions",
                             "encoder_hidden_states", "encoder_attentions"}) {
    const CheckpointTensor* wanted = golden_.find(std::string(tensor) + ".0");
    ASSERT_NE(saved.find(tensor), nullptr) << tensor;
    ASSERT_EQ(saved.find(tensor)->view.shape, wanted->view.shape) << tensor;
    EXPECT_LE(error_of(golden_values(saved, tensor), values_of(*wanted), 1), kMapsTolerance)
        << tensor;
  }
}

/// Includes language detection by the decoder if the files do not set a language.
TEST_F(CliWhisper, GeneratesTheTokensOfTransformers) {
  const json golden = json::parse(read_file(model_ + "/generated.json"));
  for (const json& written : golden["written"]) {
    const std::string rules = written["rules"].dump();
    const TempFolder folder;
    for (const char* name : {"model.safetensors", "config.json"}) {
      std::filesystem::create_symlink(model_ + "/" + name, folder.path() / name);
    }
    folder.write("generation_config.json", rules);
    const Words command =
        Words{"predict", folder.path().string(), "--generate", golden["count"].dump(), "--quiet"} +
        heard_;
    for (const Words& saving : {Words{}, Words{"--save", path("run.safetensors")}}) {
      const json facts = report_of(command + saving)["models"][0];
      std::vector<std::int64_t> prompt, tokens;
      for (const json& token : facts["tokens"]) prompt.push_back(token["id"]);
      for (const json& token : facts["generated"]["tokens"]) tokens.push_back(token["id"]);
      if (tokens.back() == written["rules"]["eos_token_id"]) tokens.pop_back();
      EXPECT_EQ(json(prompt), written["prompt"]) << rules;
      EXPECT_EQ(json(tokens), written["tokens"]) << rules;
      if (saving.empty()) continue;
      EXPECT_EQ(saved_tokens(Checkpoint::open(saving.back())), TokenIds(prompt)) << rules;
    }
  }
}

TEST_F(CliWhisper, RejectsRulesWithoutAValidPrompt) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"forced_decoder_ids": [[1, 5], [3, 7]]})", "forced_decoder_ids"},
      {R"({"forced_decoder_ids": [[1, "x"]]})", "forced_decoder_ids"},
      {R"({"forced_decoder_ids": 7})", "forced_decoder_ids"},
      {R"({"lang_to_id": {"<|en|>": -2}})", "lang_to_id"},
      {R"({"language": "en"})", "language"},
      {R"({"task": "sing", "task_to_id": {"translate": 3}})", "task"},
      {R"({"no_timestamps_token_id": [1]})", "no_timestamps_token_id"},
      {R"({"no_timestamps_token_id": Infinity})", "no_timestamps_token_id"},
      {R"({"return_timestamps": 1})", "return_timestamps"}};
  for (const auto& [rules, key] : cases) {
    const TempFolder folder;
    for (const char* name : {"model.safetensors", "config.json"}) {
      std::filesystem::create_symlink(model_ + "/" + name, folder.path() / name);
    }
    folder.write("generation_config.json", rules);
    expect_refusal(Words{"predict", folder.path().string(), "--generate", "2"} + heard_, kBadFile,
                   {"generation_config.json", "'" + key + "'"});
  }
  expect_refusal(Words{"predict", model_, stack_path("wav2vec2")} + heard_, kUsage,
                 {"run the models separately"});
  expect_refusal(Words{"predict", model_, "--text", "a"} + heard_, kUsage, {"--text"});
  expect_refusal(Words{"predict", model_, "--target-tokens", "2,99"} + heard_, kUsage,
                 {"token id 99"});
}

}  // namespace
}  // namespace attnscope::test
