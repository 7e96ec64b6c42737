// Models from the Hugging Face Hub through the command line: downloads, the cache, and errors.
#include <sys/file.h>

#include "tests/support/test_hub.h"

namespace attnscope::test {
namespace {

namespace fs = std::filesystem;

const Words kSpectrum = {"spectrum", "--format", "csv"};

/// Figures of the same files in a local folder. The last part of the model name is the same.
std::string expected(const std::string& data) {
  return output_of(kSpectrum + Words{data_path(data)});
}

class HubDownload : public testing::Test {
 protected:
  HubDownload() { hub.offer("org/llama", "llama"); }

  std::vector<json> requests_of(const std::string& method, const std::string& part) const {
    std::vector<json> found;
    for (const json& request : hub.requests()) {
      if (request["method"] == method && contains(request["path"].get<std::string>(), part)) {
        found.push_back(request);
      }
    }
    return found;
  }

  std::string commit() const { return read_file(hub.cached("org/llama") / "refs" / "main"); }

  TestHub hub;
};

TEST_F(HubDownload, GivesTheSameFiguresAndAStandardCache) {
  EXPECT_EQ(output_of(kSpectrum + Words{"org/llama"}, hub.options()), expected("llama"));

  const fs::path cache = hub.cached("org/llama");
  EXPECT_EQ(commit().size(), 40u);  // and no newline
  const fs::path snapshot = cache / "snapshots" / commit();
  EXPECT_EQ(files_in(snapshot),
            (Words{"config.json", "model-00001-of-00002.safetensors",
                   "model-00002-of-00002.safetensors", "model.safetensors.index.json"}));
  for (const std::string& name : files_in(snapshot)) {
    const fs::path link = fs::read_symlink(snapshot / name);
    EXPECT_EQ(link.parent_path(), "../../blobs") << name;
    EXPECT_EQ(link.filename().string().size(), name.ends_with(".json") ? 40u : 64u) << name;
    EXPECT_EQ(read_file(snapshot / name), read_file(data_path("llama") + "/" + name)) << name;
    EXPECT_TRUE(fs::exists(hub.home() / "hub" / ".locks" / "models--org--llama" /
                           (link.filename().string() + ".lock")));
  }
  EXPECT_EQ(files_in(cache / "blobs").size(), 4u);  // no partial download is left
  EXPECT_TRUE(fs::exists(cache / ".no_exist" / commit() / "tokenizer.json"));
  EXPECT_TRUE(read_file(hub.home() / "hub" / "CACHEDIR.TAG")
                  .starts_with("Signature: 8a477f597d28d172789f06886806bc55"));
}

TEST_F(HubDownload, ChecksTheRevisionButDownloadsNothingAgain) {
  output_of(kSpectrum + Words{"org/llama"}, hub.options());
  hub.forget_requests();
  output_of(kSpectrum + Words{"org/llama"}, hub.options());
  EXPECT_EQ(hub.requests().size(), 1u);
  hub.forget_requests();
  output_of(kSpectrum + Words{"org/llama@" + commit()}, hub.options());
  output_of(kSpectrum + Words{"org/llama"}, hub.offline());
  EXPECT_TRUE(hub.requests().empty());
}

TEST_F(HubDownload, UsesTheCacheIfTheHubIsUnreachable) {
  output_of(kSpectrum + Words{"org/llama"}, hub.options());
  RunOptions away = hub.options();
  away.environment["HF_ENDPOINT"] = "http://127.0.0.1:1";
  const RunResult run = run_attnscope(kSpectrum + Words{"org/llama"}, away);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, expected("llama"));
  EXPECT_TRUE(contains(run.err, "cannot reach 127.0.0.1")) << run.err;
  EXPECT_TRUE(contains(run.err, "using the cached commit " + commit())) << run.err;
}

TEST_F(HubDownload, PrefersAPathToAName) {
  fs::create_directories(hub.options().folder / "org");
  fs::copy(data_path("gpt2"), hub.options().folder / "org" / "llama");
  output_of(kSpectrum + Words{"org/llama"}, hub.options());
  EXPECT_TRUE(hub.requests().empty());
}

TEST_F(HubDownload, SendsTheTokenToTheHubOnly) {
  hub.set_options("org/llama", {{"private", true}, {"gated", true}});
  RunOptions options = hub.options();
  options.environment["HF_TOKEN"] = "hf_wrong";
  expect_refusal({"info", "org/llama"}, 3, {"HF_TOKEN: ", "does not accept this token"}, options);
  hub.set_options("org/llama", {{"private", true}});
  hub.forget_requests();
  options.environment["HF_TOKEN"] = "hf_right";
  output_of(kSpectrum + Words{"org/llama"}, options);
  std::size_t elsewhere = 0;
  for (const json& request : hub.requests()) {
    const bool on_hub = request["host"] == "hub";
    EXPECT_EQ(request["authorization"], on_hub ? "Bearer hf_right" : "") << request;
    elsewhere += on_hub ? 0 : 1;
  }
  EXPECT_EQ(elsewhere, 2u);
}

TEST_F(HubDownload, ResumesAfterALostConnection) {
  hub.set_faults({{{"match", "GET cdn"}, {"times", 2}, {"cut", 5000}}});
  EXPECT_EQ(output_of(kSpectrum + Words{"org/llama", "--quiet"}, hub.options()), expected("llama"));
  bool went_on = false;
  for (const json& request : requests_of("GET", "model-0000")) {
    went_on = went_on || request["range"] == "bytes=5000-";
  }
  EXPECT_TRUE(went_on);
}

TEST_F(HubDownload, ResumesTheDownloadOfAnotherRun) {
  hub.set_faults({{{"match", "GET cdn"}, {"status", 403}}});
  expect_refusal({"info", "org/llama"}, 3, {"HTTP status 403"}, hub.options());
  hub.set_faults({});
  const std::string first = read_file(data_path("llama") + "/model-00001-of-00002.safetensors");
  const fs::path blobs = hub.cached("org/llama") / "blobs";
  std::size_t begun = 0;
  for (const std::string& name : files_in(blobs)) {
    if (!name.ends_with(".incomplete")) continue;
    // For the second shard, these bytes are wrong.
    std::ofstream(blobs / name, std::ios::binary) << first.substr(0, 3000);
    ++begun;
  }
  EXPECT_EQ(begun, 2u);
  hub.forget_requests();
  EXPECT_EQ(output_of(kSpectrum + Words{"org/llama"}, hub.options()), expected("llama"));
  EXPECT_EQ(requests_of("GET", "model-0000").size(), 3u);  // the wrong one is requested again
}

TEST_F(HubDownload, AcceptsServersThatIgnoreRanges) {
  hub.set_faults({{{"match", "GET cdn"}, {"times", 2}, {"cut", 5000}},
                  {{"match", "GET cdn"}, {"ignore_range", true}}});
  EXPECT_EQ(output_of(kSpectrum + Words{"org/llama", "--quiet"}, hub.options()), expected("llama"));
}

TEST_F(HubDownload, DecompressesGzipResponses) {
  hub.set_faults(
      {{{"match", "GET hub /org"}, {"gzip", true}}, {{"match", "GET cdn"}, {"gzip", true}}});
  EXPECT_EQ(output_of(kSpectrum + Words{"org/llama"}, hub.options()), expected("llama"));
}

TEST_F(HubDownload, RejectsWrongBytes) {
  const struct {
    json fault;
    std::string said;
  } cases[] = {
      {{{"match", "GET cdn"}, {"wrong_bytes", true}}, "its SHA-256 is "},
      {{{"match", "/config.json"}, {"wrong_bytes", true}}, "its SHA-1 is "},
      {{{"match", "HEAD hub"}, {"wrong_size", -1}}, "the server sent more than the "},
  };
  for (const auto& [fault, said] : cases) {
    fs::remove_all(hub.home());
    hub.set_faults({fault});
    expect_refusal({"info", "org/llama"}, 4, {"org/llama: ", said}, hub.options());
    EXPECT_FALSE(fs::exists(hub.cached("org/llama") / "refs"));
  }
}

TEST_F(HubDownload, WaitsIfTheHubRequestsIt) {
  hub.set_faults({{{"match", "/revision/"},
                   {"times", 1},
                   {"status", 429},
                   {"headers", {{"RateLimit", "\"api\";r=0;t=1"}}}},
                  {{"match", "HEAD"}, {"times", 1}, {"status", 503}}});
  const auto start = std::chrono::steady_clock::now();
  const RunResult run = run_attnscope(kSpectrum + Words{"org/llama"}, hub.options());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.err, "attnscope: note: org/llama: the hub limits the request rate; waiting 2 s\n");
}

TEST_F(HubDownload, ReportsErrorsInOneLine) {
  hub.offer("org/gated", "gpt2");
  hub.set_options("org/gated", {{"gated", true}});
  hub.offer("org/old", "gpt2");
  hub.set_options("org/old", {{"renamed", "org/llama"}});
  hub.offer("org/two", "gpt2", "main");
  fs::copy(hub.folder_of("org/two") / "model.safetensors",
           hub.folder_of("org/two") / "other.safetensors");
  fs::rename(hub.folder_of("org/two") / "model.safetensors",
             hub.folder_of("org/two") / "one.safetensors");
  hub.offer("org/no-weights", "gpt2");
  fs::remove(hub.folder_of("org/no-weights") / "model.safetensors");
  const struct {
    std::string model;
    int exit_code;
    Words said;
  } cases[] = {
      {"org/absent",
       3,
       {"no such local file or folder, and no such model on 127.0.0.1", "HF_TOKEN"}},
      {"absent", 3, {"absent: ", "no such model on 127.0.0.1"}},
      {"org/gated", 3, {"accepted its conditions", hub.address() + "/org/gated", "HF_TOKEN"}},
      {"org/llama@mian", 3, {"has no revision 'mian'", "did you mean 'main'?"}},
      {"org/llama@step*", 2, {"no branch or tag matches", "main"}},
      {"org/llama/absent", 3, {"no such file or folder"}},
      {"org/two", 2, {"contains several .safetensors files", "pass one of them"}},
      {"org/no-weights", 3, {"contains no weights"}},
      {"org/lla--ma", 3, {"no such file or folder"}},
  };
  for (const auto& [model, exit_code, said] : cases) {
    expect_refusal({"info", model}, exit_code, said, hub.options());
  }
  expect_refusal({"info", "org/llama"}, 3, {"not complete in the cache", "HF_HUB_OFFLINE"},
                 hub.offline());
  output_of({"info", "org/two/one.safetensors"}, hub.options());
  output_of({"info", "org/old"}, hub.options());
}

TEST_F(HubDownload, ReportsServerErrors) {
  const struct {
    json fault;
    Words said;
  } cases[] = {
      {{{"match", "/revision/"},
        {"status", 403},
        {"headers", {{"X-Error-Message", "go\x1b away"}}}},
       {"HTTP status 403: go"}},
      {{{"match", "/revision/"}, {"redirect", "/api/models/org/llama/revision/main"}},
       {"redirects too many times"}},
      {{{"match", "/revision/"},
        {"status", 302},
        {"headers", {{"Location", "file:///etc/passwd"}}}},
       {"unsupported URL"}},
      {{{"match", "HEAD hub"}, {"status", 200}, {"headers", {{"ETag", "\"../../evil\""}}}},
       {"no valid ETag"}},
  };
  for (const auto& [fault, said] : cases) {
    hub.set_faults({fault});
    const RunResult run = run_attnscope({"info", "org/llama", "--quiet"}, hub.options());
    EXPECT_NE(run.exit_code, 0);
    EXPECT_EQ(lines_of(run.err).size(), 1u) << run.err;
    for (const std::string& part : said) EXPECT_TRUE(contains(run.err, part)) << run.err;
  }
}

TEST_F(HubDownload, StopsAtOnce) {
  hub.set_faults({{{"match", "GET cdn"}, {"delay", 20}}});
  RunningCommand command(kSpectrum + Words{"org/llama"}, hub.options());
  ASSERT_TRUE(command.wait_until([&] { return command.handles(SIGINT); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  command.send(SIGINT);
  const RunResult run = command.wait();
  EXPECT_EQ(run.exit_code, 130);
  EXPECT_LT(run.seconds, 1);
}

TEST_F(HubDownload, FetchesAllPartsOfConsolidatedWeights) {
  hub.offer("org/parts", "foreign/consolidated-2");
  output_of({"info", "org/parts"}, hub.options());
  const Words files = files_in(hub.cached("org/parts") / "snapshots" /
                               read_file(hub.cached("org/parts") / "refs" / "main"));
  EXPECT_EQ(files, (Words{"consolidated.00.pth", "consolidated.01.pth", "params.json"}));
}

TEST_F(HubDownload, WritesFilesIntoSnapshotsIfLinksAreDisabled) {
  RunOptions options = hub.options();
  options.environment["HF_HUB_DISABLE_SYMLINKS"] = "1";
  EXPECT_EQ(output_of(kSpectrum + Words{"org/llama"}, options), expected("llama"));
  const fs::path snapshot = hub.cached("org/llama") / "snapshots" / commit();
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(snapshot / "config.json")));
  EXPECT_TRUE(files_in(hub.cached("org/llama") / "blobs").empty());
  EXPECT_EQ(output_of(kSpectrum + Words{"org/llama"}, hub.offline()), expected("llama"));
}

}  // namespace
}  // namespace attnscope::test
