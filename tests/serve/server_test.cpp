// `serve`: its address, access control, and rejected arguments.
#include "tests/serve/server.h"

#include <cstring>

#include "attnscope/serve/listen_address.h"

namespace attnscope::test {
namespace {

using namespace std::chrono_literals;

constexpr int kInterrupted = 128 + SIGINT;

TEST(Serve, PrintsItsAddressAndEndsOnRequest) {
  Server server;
  EXPECT_EQ(server.address(), "http://127.0.0.1:" + std::to_string(server.port()) + "/");
  server.expect_alive();
  const RunResult result = server.stop();
  EXPECT_EQ(result.exit_code, kInterrupted);
  EXPECT_LT(result.seconds, 1.0);
  EXPECT_EQ(result.out, server.address() + "\n");
  EXPECT_EQ(result.err, "\nattnscope: interrupted\n");
}

TEST(Serve, EveryResponseHasSecurityHeaders) {
  const Server server;
  for (const char* path : {"/", "/api/models", "/api/values", "/nothing"}) {
    const HttpReply reply = server.talk().get(path);
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff") << path;
    EXPECT_EQ(reply.header("referrer-policy"), "no-referrer");
    EXPECT_EQ(reply.header("cross-origin-resource-policy"), "same-origin");
    EXPECT_EQ(reply.header("cache-control"), "no-store");
    EXPECT_EQ(reply.header("connection"), "close");
  }
  const HttpReply page = server.talk().get("/");
  if (page.status != 200) {  // a build without the page
    EXPECT_EQ(page.status, 404);
    return;
  }
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  const std::string policy = page.header("content-security-policy");
  for (const char* rule : {"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"}) {
    EXPECT_TRUE(contains(policy, rule)) << policy;
  }
  EXPECT_FALSE(contains(page.body, ">@@")) << "a place that was not filled";
}

TEST(Serve, ListsModelsAndAnalyses) {
  const Server server;
  const json models = server.get("/api/models");
  EXPECT_EQ(models["models"].at(0)["name"], "shakespeare-gpt2");
  EXPECT_EQ(models["raw_maps"], nullptr);
  Words ids;
  for (const json& analysis : models["analyses"]) {
    ids.push_back(analysis["id"]);
    EXPECT_EQ(analysis["state"], "absent");
    EXPECT_TRUE(analysis["again"].get<std::string>().starts_with("attnscope ")) << analysis;
  }
  EXPECT_EQ(ids, (Words{"similarity", "matrices", "mla", "overlap", "weights", "induction",
                        "spectrum", "circuits", "composition", "directions", "lens", "ablate"}))
      << "the quickest first, and last those of a text";
  const json results = server.get("/api/results");
  EXPECT_EQ(results["schema"], "attnscope-report/1");
  EXPECT_EQ(results["revision"], models["revision"]);
  EXPECT_EQ(results["reports"], json::array());
}

TEST(Serve, AReachableAddressRequiresAToken) {
  const Server server({kServedModel, "--host", "0.0.0.0"});
  const std::size_t at = server.address().find("?token=");
  ASSERT_NE(at, std::string::npos) << server.address();
  const std::string query = server.address().substr(at);
  EXPECT_EQ(query.size(), std::strlen("?token=") + 32);
  EXPECT_EQ(server.talk().get("/api/models").status, 401);
  EXPECT_EQ(server.talk().get("/api/models" + query).status, 200);
  EXPECT_EQ(server.talk().get("/api/models?token=" + std::string(32, '0')).status, 401);
  Talk with_header = server.talk();
  with_header.headers["Authorization"] = "Bearer " + query.substr(std::strlen("?token="));
  EXPECT_EQ(with_header.get("/api/models").status, 200);
  const Server own({kServedModel, "--token", "open-sesame"});
  EXPECT_TRUE(own.address().ends_with("/?token=open-sesame"));
  EXPECT_EQ(own.talk().get("/").status, 401);
}

TEST(Serve, PrintsAnAddressThatCanBeOpened) {
  for (const char* host : {"0.0.0.0", "0"}) {
    const Server server({kServedModel, "--host", host});
    const std::string name = server.address().substr(std::strlen("http://"));
    const std::string shown = name.substr(0, name.find(':'));
    EXPECT_TRUE(is_numeric_address(shown)) << server.address();
    EXPECT_FALSE(is_any_address(shown)) << server.address();
    Talk by_name = server.talk();
    by_name.headers["Host"] = name.substr(0, name.find('/'));
    const std::string query = server.address().substr(server.address().find("?token="));
    EXPECT_EQ(by_name.get("/api/models" + query).status, 200) << server.address();
  }
}

TEST(Serve, OpensTheAddressInABrowser) {
  const TempFolder folder;
  const auto opener = folder.write("bin/xdg-open", "#!/bin/sh\necho \"$1\" > opened\n");
  std::filesystem::permissions(opener, std::filesystem::perms::owner_all);
  const std::string path = opener.parent_path().string() + ":/usr/bin:/bin";
  const Server server({kServedModel, "--open"},
                      {.folder = folder.path(), .environment = {{"PATH", path}}});
  const auto until = std::chrono::steady_clock::now() + kLongWait;
  std::string opened;
  while (!contains(opened, "\n") && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(10ms);
    const auto file = folder.path() / "opened";
    if (std::filesystem::exists(file)) opened = read_file(file);
  }
  EXPECT_EQ(opened, server.address() + "\n");
}

TEST(Serve, RejectsInvalidArguments) {
  const Server server;
  const std::string taken = std::to_string(server.port());
  expect_refusal({"serve", kServedModel, "--quiet", "--port", taken}, kIo,
                 {"--port", "127.0.0.1:" + taken + " is in use", "--port 0"});
  server.expect_alive();
  expect_refusal({"serve", "--quiet"}, kUsage, {"MODEL"});
  expect_refusal({"serve", kServedModel, "--quiet", "--port", "65536"}, kUsage, {"--port"});
  expect_refusal({"serve", kServedModel, "--quiet", "--host", "192.0.2.1"}, kUsage,
                 {"--host", "not an address of this machine"});
  expect_refusal({"serve", kServedModel, "--quiet", "--host", "no such host"}, kUsage, {"--host"});
  expect_refusal({"serve", kServedModel, "--quiet", "--token", "a b"}, kUsage, {"--token"});
  expect_refusal({"serve", "/nowhere", "--quiet"}, kIo, {"/nowhere"});
}

}  // namespace
}  // namespace attnscope::test
