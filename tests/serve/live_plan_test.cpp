// Texts in request bodies instead of files: plans and ablations on them.
#include "tests/features/attention/attention_model.h"
#include "tests/serve/server.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

/// A tiny model with a word tokenizer.
class ServedText : public ::testing::Test {
 protected:
  ServedText() : model_(scratch_.path() / "llama") {
    fs::copy(tiny_model("llama"), model_);
    fs::permissions(model_, fs::perms::owner_all);
    json vocabulary = {{"<s>", 0}};
    for (int at = 1; at < 20; ++at) vocabulary[word(at)] = at;
    const json tokenizer = {
        {"version", "1.0"},
        {"added_tokens", json::array()},
        {"pre_tokenizer", {{"type", "Whitespace"}}},
        {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "<s>"}}}};
    scratch_.write("llama/tokenizer.json", tokenizer.dump());
    for (int at = 0; at < 600; ++at) text_ += word(1 + at * at % 19) + " ";
    file_ = scratch_.write("text.txt", text_).string();
  }

  static std::string word(int number) { return "w" + std::to_string(number); }

  json rows_of(const Server& server, const std::string& id) const {
    const json results = server.get("/api/results");
    for (const json& part : results["reports"]) {
      if (part["id"] == id) return part["rows"];
    }
    return {};
  }
  json printed(Words words) const {
    const char* option = words.front() == "plan" ? "--calibration-file" : "--text-file";
    words.insert(words.begin() + 1, {model_.string(), option, file_, "--quiet"});
    return report_of(words)["rows"];
  }
  std::string state_of(const Server& server, const std::string& id) const {
    const json models = server.get("/api/models");
    for (const json& each : models["analyses"]) {
      if (each["id"] == id) return each["state"];
    }
    return "";
  }

  TempFolder scratch_;
  fs::path model_;
  std::string text_, file_;
};

TEST_F(ServedText, IsCalibratedOnLikeInACommand) {
  const std::string store = (scratch_.path() / "rows.sqlite").string();
  const Server server({model_.string(), "--store", store});
  const json job = server.finished(server.start("/api/plan", {{"text", text_}}));
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(rows_of(server, "plan"), printed({"plan"}));
  EXPECT_EQ(rows_of(server, "plan_layers"),
            printed({"plan", "--method", "depth", "--keep", "0.999"}));
  EXPECT_EQ(rows_of(server, "plan_ranks"),
            printed({"plan", "--method", "low-rank", "--keep", "0.8"}));
  const json results = server.get("/api/results");
  EXPECT_TRUE(
      contains(results["reports"].at(0)["again"].get<std::string>(), "--calibration-file FILE"));
  EXPECT_GT(fs::file_size(store), 0u);

  // Another text replaces the plan. A text that is too short leaves it unchanged.
  const json too_short = server.finished(server.start("/api/plan", {{"text", "w1"}}));
  EXPECT_EQ(too_short["state"], "failed");
  EXPECT_EQ(too_short["error"]["message"],
            "text: a text of 1 token is too short for calibration and evaluation");
  EXPECT_EQ(server.get("/api/results")["revision"], results["revision"]);
  const std::string half = text_.substr(0, text_.size() / 2);
  server.finished(server.start("/api/plan", {{"text", half}, {"model", "llama"}}));
  EXPECT_EQ(server.get("/api/results")["reports"].size(), results["reports"].size());
  EXPECT_NE(rows_of(server, "plan"), json(results["reports"].at(0)["rows"]));
}

TEST_F(ServedText, OfAPlanComesFromTheBodyOnly) {
  const Server server({model_.string()});
  for (const auto& [body, problem] : std::vector<std::pair<json, std::string>>{
           {json::object(), "text: missing calibration text"},
           {{{"text", ""}}, "text: is empty"},
           {{{"text", 5}}, "text: is not a string"},
           {{{"text", std::string((4 << 20) + 1, 'x')}}, "text: exceeds the limit"},
           {{{"text", "w1"}, {"model", "other"}}, "'other' is not served here"},
           {{{"text", "w1"}, {"out", "x"}}, "out: unknown parameter"}}) {
    const HttpReply reply = server.talk().post("/api/plan", body.dump());
    EXPECT_EQ(reply.status, 400) << problem;
    EXPECT_TRUE(contains(reply.body, problem)) << reply.body;
  }
  // The name of a file is treated like any other text.
  server.finished(server.start("/api/plan", {{"text", file_}}));
  EXPECT_NE(rows_of(server, "plan"), printed({"plan"}));
}

TEST_F(ServedText, RunsInWindowsLikeInACommand) {
  const Server server({model_.string()});
  const json job = server.finished(server.start("/api/attention", {{"long_text", text_}}));
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(rows_of(server, "attention"), printed({"attention"}));
  const json worth = rows_of(server, "ablate");
  ASSERT_FALSE(worth.empty());
  EXPECT_TRUE(worth.at(0)["loss_increase_error"].is_number()) << "of several windows";

  // Errors refer to the request, not to files or options that a request cannot name.
  const json few = server.finished(server.start("/api/attention", {{"long_text", "w1 w2"}}));
  const std::string message = few["error"]["message"];
  EXPECT_TRUE(message.starts_with("long_text: has 2 tokens, fewer than the ")) << few;
  EXPECT_EQ(few["error"]["parameter"], "long_text");
  EXPECT_FALSE(few["error"].contains("hint")) << few;
}

TEST_F(ServedText, ThatRanLastIsUsedForAblation) {
  const Server server({model_.string()});
  const json first = server.finished(server.start("/api/analyses", {{"id", "ablate"}}));
  EXPECT_TRUE(contains(first["error"]["message"].get<std::string>(), "run one first")) << first;
  EXPECT_EQ(state_of(server, "ablate"), "absent");
  EXPECT_EQ(state_of(server, "lens"), "absent");
  server.finished(server.start("/api/attention", {{"tokens", "1"}}));
  for (const char* id : {"lens", "ablate"}) {
    const json of_one = server.finished(server.start("/api/analyses", {{"id", id}}));
    EXPECT_EQ(of_one["state"], "failed") << "nothing follows: " << of_one;
    EXPECT_TRUE(contains(of_one["error"]["message"].get<std::string>(), "nothing to predict"));
    EXPECT_EQ(state_of(server, id), "absent");
  }
  server.finished(server.start("/api/attention", {{"text", text_.substr(0, 60)}}));
  EXPECT_EQ(state_of(server, "ablate"), "done");
  EXPECT_EQ(state_of(server, "lens"), "done");
  EXPECT_EQ(server.talk().post("/api/analyses", R"({"id":"lens"})").status, 409);
  const json missing = server.finished(server.start("/api/analyses", {{"id", "missing"}}));
  EXPECT_EQ(missing["state"], "done") << missing;
}

}  // namespace
}  // namespace attnscope::test
