// `report`: the numbers of other commands in a self-contained page with a single script.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <regex>

#include "tests/features/attention/attention_model.h"
#include "tests/support/golden_variants.h"
#include "tests/support/report_page.h"
#include "tests/support/shell_words.h"
#include "tests/support/tiny_llama.h"

namespace attnscope::test {
namespace {

int count_of(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

TEST(CliReport, ContainsTheRowsOfTheOtherCommands) {
  const TempFolder folder;
  const std::string model = tiny_model("gpt2");
  const ReportPage page = report_page(folder, {model, "--tokens", "1,2,3,4,5"});
  const struct {
    const char* id;
    Words command;
  } parts[] = {
      {"spectrum",
       {"spectrum", model, "--matrix", "q,k,v,o,up,down,qk,ov,kv", "--per-head", "--values",
        "--energy", "0.6,0.8,0.9,0.99"}},
      {"mla", {"spectrum", model, "--mla"}},
      {"weights", {"weights", model, "--per-head", "--histogram", "--bins", "400"}},
      {"similarity", {"similarity", model, "--histogram"}},
      {"overlap", {"similarity", model, "--overlap"}},
      {"circuits", {"circuits", model, "--energy", "0.6,0.8,0.9,0.99"}},
      {"attention", {"attention", model, "--tokens", "1,2,3,4,5"}},
      {"attention_excluding_first",
       {"attention", model, "--tokens", "1,2,3,4,5", "--exclude-first-token"}},
  };
  for (const auto& [id, command] : parts) {
    SCOPED_TRACE(id);
    const json part = page.part(id), printed = report_of(command);
    EXPECT_EQ(part["command"], printed["command"]);
    EXPECT_EQ(part["parameters"], printed["parameters"]);
    EXPECT_EQ(part["skipped"], printed["skipped"]);
    ASSERT_EQ(part["rows"].size(), printed["rows"].size());
    for (std::size_t row = 0; row < printed["rows"].size(); ++row) {
      for (const auto& [name, value] : printed["rows"][row].items()) {
        if (name == "cumulative_energy" || name == "random_singular_values") continue;
        const json& packed = part["rows"][row].at(name);
        if (name == "singular_values" && packed.is_object()) {
          const std::vector<double> kept = page.numbers(packed);
          ASSERT_EQ(kept.size(), value.size());
          for (std::size_t i = 0; i < kept.size(); ++i) {
            EXPECT_EQ(kept[i], static_cast<double>(value[i].get<float>()));
          }
        } else if (name == "histogram") {
          EXPECT_EQ(packed["counts"], value["counts"]);
          // Rows that share a range share their edges, which tells the page that they are
          // comparable.
          EXPECT_EQ(packed["edges"], part["rows"][0]["histogram"]["edges"]);
          EXPECT_EQ(page.numbers(packed["edges"]).size(), value["edges"].size());
        } else if (!packed.is_object() || !packed.contains("at")) {
          EXPECT_EQ(packed, value) << name;
        }
      }
    }
  }
  EXPECT_EQ(page.results["texts"][0]["tokens"].size(), 5U);
  EXPECT_EQ(page.results["models"][0]["causal"], true);
  const json& fields = page.results["fields"]["attention"];
  const auto collapsed = std::find_if(
      fields.begin(), fields.end(), [](const json& field) { return field["name"] == "collapsed"; });
  ASSERT_NE(collapsed, fields.end());
  EXPECT_FALSE((*collapsed)["words"].get<std::string>().empty()) << "the page has no words for it";
  EXPECT_EQ(page.results["maps"].size(), page.results["models"][0]["layers"].get<std::size_t>() *
                                             page.results["models"][0]["heads"].get<std::size_t>());
}

TEST(CliReport, KeepsFullMapsOfBidirectionalAttention) {
  const TempFolder folder;
  const std::string weights = read_file(data_path("forward/gemma3/model.safetensors"));
  for (const char* variant : {"both-ways", "bidirectional"}) {
    SCOPED_TRACE(variant);
    folder.write("model/model.safetensors", weights);
    const json config = config_of({.model = "gemma3", .name = variant});
    const std::filesystem::path model =
        folder.write("model/config.json", config.dump()).parent_path();
    std::string notes;  // norms on queries and keys cause notes
    const ReportPage page = report_page(folder, {model.string(), "--tokens", "3,4,5,6"}, &notes);
    EXPECT_FALSE(contains(notes, "skipped analyses:")) << notes;
    EXPECT_EQ(page.results["models"][0]["causal"], false);
    const json& map = page.results["maps"].at(0);
    EXPECT_EQ(map["causal"], false);
    EXPECT_NE(page.maps.at(map["at"].get<std::size_t>() + 1), 0) << "token 0 sees token 1";
  }
}

TEST(CliReport, ContainsTheCosinesOfEachHead) {
  const TempFolder folder;
  const std::string model = tiny_model("gpt2");
  const ReportPage page = report_page(folder, {model, "--tokens", "1,2,3"});
  const json& images = page.results["cosines"];
  ASSERT_GT(images.size(), 1U);
  const json& image = images.at(1);
  EXPECT_EQ(image["head"], 1);
  const json printed = report_of({"similarity", model, "--head-matrix", "0,1", "--matrix", "q"});
  const auto size = image["rows"].get<std::size_t>();
  ASSERT_EQ(printed["rows"].size(), size);
  const double limit = image["limit"];
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t col = 0; col < size; ++col) {
      const auto byte = static_cast<unsigned char>(
          page.maps.at(image["at"].get<std::size_t>() + row * size + col));
      const double cosine = row == col ? 0 : printed["rows"][row]["values"][col].get<double>();
      EXPECT_NEAR((byte - 128) * limit / 127, cosine, limit / 127);
    }
  }
}

TEST(CliReport, NamedCommandsPrintTheSameRows) {
  const TempFolder folder;
  const ReportPage page = report_page(folder, {tiny_model("llama"), "--tokens", "1,2,3"});
  for (const json& part : page.results["reports"]) {
    const auto again = part["again"].get<std::string>();
    SCOPED_TRACE(again);
    EXPECT_EQ(report_of(shell_words(again))["rows"].size(), part["count"]);
  }
  EXPECT_TRUE(page.results["command"].get<std::string>().starts_with("attnscope report "));
}

TEST(CliReport, HasOneScriptAndAStrictContentSecurityPolicy) {
  const TempFolder folder;
  const std::string html = report_page(folder, {tiny_model("gpt2"), "--tokens", "1,2,3"}).html;
  EXPECT_EQ(count_of(html, "<script"), 4);  // three contain data
  EXPECT_EQ(count_of(html, "<script type=\"application/gzip;base64\""), 3);
  EXPECT_EQ(count_of(html, "default-src 'none'"), 1);
  EXPECT_EQ(count_of(html, "unsafe-"), 0);
  EXPECT_EQ(count_of(html, "connect-src 'none'"), 1);
  EXPECT_EQ(count_of(html, ">@@"), 0);
}

TEST(CliReport, SkipsUnsupportedAnalysesWithAReason) {
  const TempFolder folder;
  std::string notes;
  const ReportPage page = report_page(folder, {tiny_model("bert")}, &notes);
  const auto skipped = page.left_out_of("bert");
  ASSERT_TRUE(skipped.contains("attention")) << page.results["skipped"];
  EXPECT_EQ(skipped.at("attention")["why"], "the model has no tokenizer");
  EXPECT_EQ(
      notes,
      "attnscope: note: skipped analyses: attention, attention excluding first, maps of bert: the "
      "model has no tokenizer\n"
      "attnscope: note: bert: no top tokens for output vectors: its LM head transforms the "
      "residual "
      "stream before the unembedding\n");
  EXPECT_GT(page.part("spectrum")["rows"].size(), 0U);
  EXPECT_GT(page.part("induction")["rows"].size(), 0U) << "its tokens are ids";
}

TEST(CliReport, ShowsWeightsWithoutTensorsOfTheForwardPass) {
  const TempFolder folder;
  TinyLlama model(1);
  std::erase_if(model.tensors, [](const auto& tensor) { return contains(tensor.name, "norm"); });
  std::string notes;
  const ReportPage page =
      report_page(folder, {model.write(folder, "model"), "--tokens", "1,2"}, &notes);
  EXPECT_GT(page.part("spectrum")["rows"].size(), 0U);
  for (const char* part : {"attention", "attention_excluding_first", "maps", "induction"}) {
    const json missing = page.left_out_of("model")[part];
    EXPECT_TRUE(contains(missing["why"].get<std::string>(), "norm")) << missing;
    EXPECT_EQ(missing["command"], nullptr) << "no command computes it";
  }
  EXPECT_TRUE(contains(notes, "norm")) << notes;
}

TEST(CliReport, ShowsSeveralModelsOnOnePage) {
  const TempFolder folder;
  const ReportPage page =
      report_page(folder, {tiny_model("gpt2"), tiny_model("llama"), "--tokens", "1,2,3"});
  EXPECT_EQ(page.results["models"].size(), 2U);
  EXPECT_EQ(page.models_with("circuits"), (Words{"gpt2", "llama"}));
  for (const json& part : page.results["reports"]) {
    for (const json& row : part["rows"]) EXPECT_EQ(row["model"], part["model"]);
  }
  EXPECT_EQ(page.results["texts"].size(), 2U);
}

TEST(CliReport, LongTextsKeepSmallMapsAndNameTheCommandForFullOnes) {
  const TempFolder folder;
  std::string tokens = "1";
  for (int i = 0; i < 255; ++i) tokens += "," + std::to_string(i % 50);
  // Each of two models has half of the space: 36 heads of 256 * 257 / 2 bytes do not fit.
  std::string notes;
  const ReportPage page = report_page(folder,
                                      {kShakespeare, source_path("examples/shakespeare-llama"),
                                       "--tokens", tokens, "--maps", "2,3"},
                                      &notes);
  int whole = 0;
  bool wanted = false;
  for (const json& map : page.results["maps"]) {
    EXPECT_EQ(map["tokens"], 256);
    if (map["side"] == 64) continue;
    EXPECT_EQ(map["side"], 256);
    ++whole;
    wanted = wanted || (map["layer"] == 2 && map["head"] == 3);
  }
  EXPECT_EQ(page.results["maps"].size(), 72U);
  EXPECT_GT(whole, 2);
  EXPECT_LT(whole, 60);
  EXPECT_TRUE(wanted);
  for (const char* model : {"shakespeare-gpt2", "shakespeare-llama"}) {
    const json missing = page.left_out_of(model)["maps"];
    EXPECT_TRUE(contains(missing["why"].get<std::string>(), "reduced size")) << missing;
    EXPECT_TRUE(contains(missing["command"].get<std::string>(), "--maps L0H")) << missing;
    EXPECT_TRUE(contains(notes, std::string("maps of ") + model)) << notes;
  }
}

TEST(CliReport, RejectsInvalidUseAtOnceAndLeavesNoFile) {
  const TempFolder folder;
  const std::string out = (folder.path() / "report.html").string();
  const std::string model = tiny_model("gpt2");
  expect_refusal({"report", model}, 2, {"--out", "missing output"});
  expect_refusal({"report", model, "-o", out, "--tokens", "1,9999"}, 2, {"9999"});
  expect_refusal({"report", model, "-o", out, "--text", "abc"}, 2, {"tokenizer"});
  expect_refusal({"report", model, "-o", out, "--tokens", ""}, 2, {"--tokens"});
  expect_refusal({"report", model, "-o", out, "--tokens", "1,2", "--maps", "99,0"}, 2,
                 {"--maps", "layers 0 to"});
  expect_refusal({"report", "/nowhere", "-o", out}, 3, {"/nowhere"});
  expect_refusal({"report", model, "-o", (folder.path() / "no" / "x.html").string()}, 3, {"no"});
  EXPECT_TRUE(files_in(folder.path()).empty());
}

TEST(CliReport, AnInterruptEndsTheRunWithinASecondAndLeavesNoFile) {
  const TempFolder folder, inputs;
  Words words = long_attention_run(inputs, 600);
  words.front() = "report";
  RunningCommand run(words + Words{"-o", (folder.path() / "report.html").string()});
  ASSERT_TRUE(run.wait_until([&] { return run.handles(SIGINT); }));
  const auto start = std::chrono::steady_clock::now();
  run.wait_until(
      [&] { return std::chrono::steady_clock::now() - start >= std::chrono::seconds(1); });
  run.send(SIGINT);
  const RunResult result = run.wait();
  EXPECT_EQ(result.exit_code, 128 + SIGINT) << result.err;
  EXPECT_LT(result.seconds, 1.0);
  EXPECT_TRUE(files_in(folder.path()).empty());
}

}  // namespace
}  // namespace attnscope::test
