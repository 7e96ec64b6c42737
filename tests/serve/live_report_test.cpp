// Analyses that are started from the page of `serve`: results and progress.
#include <cstring>
#include <functional>
#include <map>

#include "attnscope/base/text_encoding.h"
#include "tests/features/attention/attention_model.h"
#include "tests/serve/server.h"
#include "tests/support/stored_tensor.h"

namespace attnscope::test {
namespace {

std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

/// The events of a stream: names and data.
std::vector<std::pair<std::string, json>> events_of(const std::string& body) {
  std::vector<std::pair<std::string, json>> events;
  std::string name;
  for (const std::string& line : lines_of(body)) {
    if (line.starts_with("event: ")) name = line.substr(7);
    if (line.starts_with("data: ")) events.emplace_back(name, json::parse(line.substr(6)));
  }
  return events;
}

/// The page has a box for a second text for these models only: BERT has token types, and the
/// tokenizer of DistilBERT adds a token between the texts.
TEST(Serve, NamesModelsThatTakePairs) {
  const TempFolder folder;
  const std::string bert = data_path("classifiers/bert");
  const std::filesystem::path distilbert = folder.path() / "distilbert";
  std::filesystem::copy(data_path("classifiers/distilbert"), distilbert);
  for (const char* file : {"vocab.txt", "tokenizer_config.json"}) {
    std::filesystem::copy_file(bert + "/" + file, distilbert / file,
                               std::filesystem::copy_options::overwrite_existing);
  }
  const Server server({kServedModel, bert, distilbert.string()});
  const json models = server.get("/api/results")["models"];
  EXPECT_FALSE(models.at(0).contains("pairs"));
  EXPECT_EQ(models.at(1).value("pairs", false), true);
  EXPECT_EQ(models.at(2).value("pairs", false), true);
  const json pair = {{"model", "bert"}, {"text", "Who rules?"}, {"text_pair", "The king."}};
  EXPECT_EQ(server.finished(server.start("/api/attention", pair))["state"], "done");
  const json rows = server.get("/api/results")["reports"].at(0)["rows"];
  EXPECT_EQ(rows, report_of({"attention", bert, "--text", "Who rules?", "--text-pair",
                             "The king."})["rows"]);
  EXPECT_TRUE(rows.at(0).contains("a_to_b"));
}

TEST(Serve, RunsATextAndReturnsItsMaps) {
  const Server server;
  const std::string text = "To be, or not to be, that is the question";
  const json job = server.finished(server.start("/api/attention", {{"text", text}}));
  EXPECT_EQ(job["state"], "done") << job;
  const json results = server.get("/api/results");
  EXPECT_EQ(results["revision"], job["revision"]);
  EXPECT_EQ(results["reports"].at(0)["id"], "attention");
  Words ids;
  for (const json& part : results["reports"]) ids.push_back(part["id"]);
  EXPECT_EQ(ids, (Words{"attention", "lens", "lens_grid", "ablate"}));
  const json rows = report_of({"attention", kServedModel, "--text", text})["rows"];
  EXPECT_EQ(results["reports"].at(0)["rows"], rows);

  const TempFolder folder;
  const std::string file = (folder.path() / "maps.safetensors").string();
  output_of({"attention", kServedModel, "--text", text, "--maps", file});
  const StoredTensor maps = stored_tensor(file, "attentions");
  const std::int64_t tokens = maps.shape[3];
  EXPECT_EQ(results["texts"].at(0)["tokens"].size(), static_cast<std::size_t>(tokens));
  const json raw = server.get("/api/models")["raw_maps"].at(0);
  EXPECT_EQ(raw["tokens"], tokens);
  EXPECT_EQ(raw["layers"].size(), static_cast<std::size_t>(maps.shape[0]));
  auto expected = maps.values.begin();
  for (std::int64_t layer = 0; layer < maps.shape[0]; ++layer) {
    for (std::int64_t head = 0; head < maps.shape[1]; ++head) {
      const std::string place = "/api/maps/0/" + std::to_string(layer) + "/" + std::to_string(head);
      const HttpReply reply = server.talk().get(place);
      EXPECT_EQ(reply.header("attnscope-tokens"), std::to_string(tokens));
      const std::vector<float> map = floats_of(reply.body);
      ASSERT_EQ(map.size(), static_cast<std::size_t>(tokens * tokens));
      EXPECT_TRUE(std::equal(map.begin(), map.end(), expected)) << place;
      expected += tokens * tokens;
    }
  }
  for (const char* path : {"/api/maps/1/0/0", "/api/maps/0/6/0", "/api/maps/0/0/6"}) {
    EXPECT_EQ(server.talk().get(path).status, 404) << path;
  }
}

TEST(Serve, ANewTextReplacesTheOldOne) {
  const Server server;
  server.finished(server.start("/api/attention",
                               {{"text", "To be, or not to be"}, {"exclude_first_token", true}}));
  EXPECT_EQ(server.get("/api/results")["reports"].size(), 5u);
  const std::string first = server.talk().get("/api/maps").body;
  const json job =
      server.finished(server.start("/api/attention", {{"tokens", "5,7,11"}, {"layers", "-1"}}));
  EXPECT_EQ(job["state"], "done") << job;
  const json results = server.get("/api/results");
  EXPECT_EQ(results["reports"].size(), 4u);
  EXPECT_EQ(results["texts"].size(), 1u);
  EXPECT_EQ(results["maps"].size(), 6u) << "of one layer";
  EXPECT_EQ(results["maps"].at(0)["layer"], 5);
  EXPECT_EQ(server.talk().get("/api/maps").body.size(), 6u * (1 + 2 + 3));
  EXPECT_EQ(server.talk().get("/api/maps/0/5/0").body.size(), 9 * sizeof(float));
  EXPECT_EQ(server.talk().get("/api/maps/0/0/0").status, 404);
}

TEST(Serve, RunsATargetOnItsSourceInAllStacks) {
  const std::string model = data_path("encoder_decoders/t5");
  const Server server({model});
  const json input = {{"tokens", "3,4,5,6,7"}, {"target_tokens", "0,5,6"}, {"model", "t5:decoder"}};
  const json job = server.finished(server.start("/api/attention", input));
  EXPECT_EQ(job["state"], "done") << job;
  const json results = server.get("/api/results");
  std::map<std::string, Words> models;  // by analysis
  for (const json& part : results["reports"]) models[part["id"]].push_back(part["model"]);
  const Words all = {"t5:encoder", "t5:decoder", "t5:cross"}, decoder = {"t5:decoder"};
  EXPECT_EQ(models,
            (std::map<std::string, Words>{
                {"attention", all}, {"ablate", all}, {"lens", decoder}, {"lens_grid", decoder}}));
  json worth = json::array();
  for (const json& part : results["reports"]) {
    if (part["id"] != "ablate") continue;
    for (const json& row : part["rows"]) worth.push_back(row);
  }
  EXPECT_EQ(worth, report_of({"ablate", model, "--tokens", "3,4,5,6,7", "--target-tokens",
                              "0,5,6"})["rows"]);
  const json raw = server.get("/api/models")["raw_maps"].at(2);
  EXPECT_EQ(raw["tokens"], 3);
  EXPECT_EQ(raw["keys"], 5);

  const TempFolder folder;
  const std::string file = (folder.path() / "maps.safetensors").string();
  output_of({"attention", model, "--tokens", "3,4,5,6,7", "--target-tokens", "0,5,6", "--stack",
             "cross", "--maps", file});
  const StoredTensor maps = stored_tensor(file, "attentions");  // (layers, H, 3, 5)
  const HttpReply reply = server.talk().get("/api/maps/2/0/1");
  EXPECT_EQ(reply.header("attnscope-keys"), "5");
  const std::vector<float> map = floats_of(reply.body);
  ASSERT_EQ(map.size(), 15u);
  EXPECT_TRUE(std::equal(map.begin(), map.end(), maps.values.begin() + 15));

  const json measured = server.get("/api/models")["analyses"];
  for (const json& analysis : measured) {
    if (!analysis["needs_text"]) continue;
    EXPECT_EQ(analysis["state"], "done") << analysis;
  }

  const json alone = server.finished(server.start("/api/attention", {{"tokens", "3,4"}}));
  EXPECT_EQ(alone["state"], "done") << "its encoder needs no target";
  // This text is not continued and its decoder has not run, so no analysis is marked as done.
  const json analyses = server.get("/api/models")["analyses"];
  for (const json& analysis : analyses) {
    if (!analysis["needs_text"]) continue;
    EXPECT_EQ(analysis["state"], "absent") << analysis;
    const json none = server.finished(server.start("/api/analyses", {{"id", analysis["id"]}}));
    EXPECT_EQ(none["state"], "failed") << none;
    EXPECT_EQ(none["error"]["message"],
              "missing target text for the decoder: pass text and target");
  }
  const json failed =
      server.finished(server.start("/api/attention", {{"tokens", "3,4"}, {"model", "t5:decoder"}}));
  EXPECT_TRUE(contains(failed["error"]["message"].get<std::string>(), "target")) << failed;
}

TEST(Serve, RunsAnUploadedImage) {
  const std::string model = data_path("stacks/clip"), file = data_path("images/odd.png");
  const Server server({model});
  const json input = {{"image", base64(read_file(file))}};
  const json job = server.finished(server.start("/api/attention", input));
  EXPECT_EQ(job["state"], "done") << job;
  const json results = server.get("/api/results");
  EXPECT_EQ(results["pictures"].at(0)["model"], "clip:vision");
  json rows = report_of({"attention", model, "--image", file})["rows"];
  for (json& row : rows) row.erase("stack");  // reports name the stack in `model` only
  EXPECT_EQ(results["reports"].at(0)["rows"], rows);
  EXPECT_EQ(results["reports"].at(0)["parameters"]["source"], "FILE");
  EXPECT_EQ(results["reports"].size(), 1u);

  server.finished(server.start("/api/attention", {{"tokens", "3,4,5"}}));
  const json text = server.get("/api/results");
  EXPECT_EQ(text["pictures"], json::array());
  EXPECT_EQ(text["texts"].at(0)["model"], "clip:text");
}

TEST(Serve, ReportsWhyAnImageIsNotRun) {
  const Server server({data_path("stacks/vit")});
  const auto said = [&](const json& input) {
    const json job = server.finished(server.start("/api/attention", input));
    return job["error"]["message"].get<std::string>();
  };
  EXPECT_TRUE(contains(said({{"image", base64("no picture")}}), "image: "));
  EXPECT_TRUE(contains(said({{"tokens", "1,2"}}), "takes images, not texts"));
  EXPECT_TRUE(contains(said({{"audio", base64("RIFF")}}), "takes images, not sound"));
  for (const auto& [input, problem] : std::vector<std::pair<json, std::string>>{
           {{{"image", "no base64!"}}, "image: is not valid base64"},
           {{{"image", ""}}, "image: is empty"},
           {{{"image", base64(std::string((4 << 20) + 1, 'x'))}}, "image: exceeds the limit"},
           {{{"image", "Zm9v"}, {"text", "foo"}}, "image"}}) {
    const HttpReply reply = server.talk().post("/api/attention", input.dump());
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_TRUE(contains(reply.body, problem)) << reply.body;
  }
  server.expect_alive();
}

TEST(Serve, OneOfSeveralModelsCanBeSelected) {
  const TempFolder folder;
  for (const char* name : {"a", "b"}) {
    std::filesystem::create_directories(folder.path() / name);
    std::filesystem::copy(tiny_model("gpt2"), folder.path() / name / "step");
  }
  const Server server({(folder.path() / "a/step").string(), (folder.path() / "b/step").string()});
  const json both = server.finished(server.start("/api/attention", {{"tokens", "5,7,11"}}));
  EXPECT_EQ(both["state"], "done") << both;
  EXPECT_EQ(server.get("/api/models")["raw_maps"].size(), 2u);
  const json one =
      server.finished(server.start("/api/attention", {{"tokens", "5,7"}, {"model", "b/step"}}));
  EXPECT_EQ(one["state"], "done") << one;
  const json results = server.get("/api/results");
  for (const json& row : results["reports"].at(0)["rows"]) EXPECT_EQ(row["model"], "b/step");
  for (const json& map : results["maps"]) EXPECT_EQ(map["model"], "b/step");
  EXPECT_EQ(server.get("/api/models")["raw_maps"].size(), 1u);
  EXPECT_EQ(server.talk().get("/api/maps/0/0/0").status, 404);
  EXPECT_EQ(server.talk().get("/api/maps/1/0/0").status, 200);
}

TEST(Serve, RunsTheAnalysesOfCommands) {
  const Server server;
  const json before = server.get("/api/models");
  for (const json& analysis : before["analyses"]) {
    if (analysis["needs_text"]) continue;
    const json job = server.finished(server.start("/api/analyses", {{"id", analysis["id"]}}));
    EXPECT_EQ(job["state"], "done") << job;
  }
  const json results = server.get("/api/results");
  EXPECT_EQ(results["reports"].size(), 9u);
  EXPECT_EQ(results["skipped"], json::array());
  EXPECT_GT(results["matrices"].size(), 0u);
  const json after = server.get("/api/models");
  for (const json& analysis : after["analyses"]) {
    if (analysis["needs_text"]) continue;
    EXPECT_EQ(analysis["state"], "done");
    EXPECT_EQ(server.talk().post("/api/analyses", json{{"id", analysis["id"]}}.dump()).status, 409);
  }
  // The whole report has one revision.
  const std::string now = std::to_string(results["revision"].get<int>());
  const HttpReply values = server.talk().get("/api/values?revision=" + now);
  EXPECT_EQ(values.status, 200);
  EXPECT_EQ(values.header("attnscope-revision"), now);
  EXPECT_EQ(server.talk().get("/api/values?revision=1").status, 409);
  std::size_t numbers = 0;
  const json& parts = results["reports"];
  const auto spectrum = std::find_if(parts.begin(), parts.end(),
                                     [](const json& part) { return part["id"] == "spectrum"; });
  ASSERT_NE(spectrum, parts.end());
  for (const json& row : (*spectrum)["rows"]) {
    const json& place = row["singular_values"];
    numbers =
        std::max(numbers, place["at"].get<std::size_t>() + place["length"].get<std::size_t>());
  }
  EXPECT_GE(values.body.size() / sizeof(float), numbers);
}

TEST(Serve, RunsAllMissingAnalyses) {
  const Server server;
  server.finished(server.start("/api/analyses", {{"id", "circuits"}}));
  const std::int64_t id = server.start("/api/analyses", {{"id", "missing"}});
  const json job = server.finished(id);
  EXPECT_EQ(job["state"], "done") << job;
  EXPECT_EQ(job["progress"]["total"], 9) << "all but the circuits";
  const json models = server.get("/api/models");
  for (const json& analysis : models["analyses"]) {
    EXPECT_EQ(analysis["state"], analysis["needs_text"] ? "absent" : "done") << analysis;
  }
  Words ids;
  const json results = server.get("/api/results");
  for (const json& part : results["reports"]) ids.push_back(part["id"]);
  EXPECT_EQ(ids, (Words{"circuits", "similarity", "mla", "overlap", "weights", "induction",
                        "spectrum", "composition", "directions"}));
}

TEST(Serve, AFailedAnalysisDoesNotStopTheOthers) {
  const TempFolder folder;
  const auto model = folder.path() / "model";
  std::filesystem::copy(kServedModel, model);
  json config = json::parse(read_file(model / "config.json"));
  config["activation_function"] = "none that is known";
  folder.write("model/config.json", config.dump());
  const Server server({model.string()});
  const json job = server.finished(server.start("/api/analyses", {{"id", "missing"}}));
  EXPECT_EQ(job["state"], "done") << job;
  const json results = server.get("/api/results");
  EXPECT_EQ(results["reports"].size(), 7u);
  ASSERT_EQ(results["skipped"].size(), 2u) << results["skipped"];
  EXPECT_EQ(results["skipped"].at(0)["part"], "induction");
  EXPECT_EQ(results["skipped"].at(1)["part"], "directions");
}

/// Reads a stream of events until `done` returns true for one of them.
json event_when(const Server& server, const std::function<bool(const json&)>& done) {
  const ClientSocket socket(server.port());
  socket.send(server.talk().request_text("GET", "/api/events"));
  std::string text;
  for (std::size_t from = 0;;) {
    const std::size_t begin = text.find("data: ", from), end = text.find("\n\n", begin);
    if (begin != std::string::npos && end != std::string::npos) {
      json data = json::parse(text.substr(begin + 6, end - begin - 6));
      if (done(data)) return data;
      from = end;
      continue;
    }
    const std::string more = socket.receive("\n\n");
    if (more.empty()) throw std::runtime_error("the stream is over: " + text);
    text += more;
  }
}

TEST(Serve, EveryClientReceivesTheEventsOfOthers) {
  const Server server;
  const json first = event_when(server, [](const json&) { return true; });
  EXPECT_EQ(first, (json{{"revision", 1}, {"jobs", json::array()}}));
  std::jthread other([&] { server.finished(server.start("/api/analyses", {{"id", "overlap"}})); });
  const json last = event_when(server, [](const json& change) {
    return !change["jobs"].empty() && change["jobs"].at(0)["state"] == "done";
  });
  EXPECT_EQ(last["jobs"].at(0)["what"], "overlap");
  EXPECT_EQ(last["revision"], 2);
  other.join();
  // A client does not receive events from before it connected.
  const json later = event_when(server, [](const json&) { return true; });
  EXPECT_EQ(later, (json{{"revision", 2}, {"jobs", json::array()}}));
}

TEST(Serve, AFailureIsReportedAndLeavesTheReportUnchanged) {
  const Server server({tiny_model("gpt2")});
  const json job = server.finished(server.start("/api/attention", {{"tokens", "5,99999"}}));
  EXPECT_EQ(job["state"], "failed");
  EXPECT_EQ(job["error"]["kind"], "usage") << job;
  EXPECT_EQ(server.get("/api/results")["reports"], json::array());
  const json no_text = server.finished(server.start("/api/attention", {{"text", "To be"}}));
  EXPECT_EQ(no_text["state"], "failed") << "it has no tokenizer";
  EXPECT_TRUE(contains(no_text["error"]["hint"].get<std::string>(), "tokens")) << no_text;
  std::string many = "1";
  while (many.size() < 60'000) many += ",1";
  const json large = server.finished(server.start("/api/attention", {{"tokens", many}}));
  EXPECT_TRUE(contains(large["error"]["message"].get<std::string>(), "exceed the limit of 4 GB"));
}

TEST(Serve, AJobReportsItsProgress) {
  const Server server;
  const std::int64_t id = server.start("/api/analyses", {{"id", "spectrum"}});
  const HttpReply reply = server.talk().get("/api/jobs/" + std::to_string(id) + "/events");
  EXPECT_EQ(reply.header("content-type"), "text/event-stream");
  const auto events = events_of(reply.body);
  ASSERT_FALSE(events.empty());
  for (const auto& [name, data] : events) {
    EXPECT_EQ(data["job"], id);
    EXPECT_EQ(name, &data == &events.back().second ? "end" : "progress");
  }
  EXPECT_EQ(events.back().second["state"], "done");
  EXPECT_EQ(events.back().second["revision"], 2);
  // A finished job reports its end at once.
  EXPECT_EQ(events_of(server.talk().get("/api/jobs/" + std::to_string(id) + "/events").body).size(),
            1u);
  EXPECT_EQ(server.talk().get("/api/jobs/99/events").status, 404);
}

TEST(Serve, ShowsTheContentsOfAStoreAtOnce) {
  const TempFolder folder;
  const std::string store = (folder.path() / "rows.sqlite").string();
  output_of({"spectrum", kServedModel, "--mla", "--store", store});
  const auto shown = [&](const Server& server) {
    server.finished(1);  // the job that reads the store
    Words ids;
    const json results = server.get("/api/results");
    for (const json& part : results["reports"]) ids.push_back(part["id"]);
    return ids;
  };
  {
    const Server server({kServedModel, "--store", store});
    EXPECT_EQ(shown(server), Words{"mla"});
    server.finished(server.start("/api/analyses", {{"id", "circuits"}}));
  }
  EXPECT_EQ(shown(Server({kServedModel, "--store", store})), (Words{"mla", "circuits"}));
}

}  // namespace
}  // namespace attnscope::test
