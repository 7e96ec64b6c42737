// `serve` stops jobs, and itself, within a second.
#include "attnscope/serve/limits.h"
#include "tests/serve/server.h"
#include "tests/support/llama_layer.h"

namespace attnscope::test {
namespace {

using namespace std::chrono_literals;
using StopClock = std::chrono::steady_clock;

/// A server of two layers of Llama's size, whose analyses are slow.
class ServeStop : public testing::Test {
 protected:
  std::int64_t start_and_wait(const char* id) {
    const std::int64_t job = server_.start("/api/analyses", {{"id", id}});
    while (server_.job(job)["progress"].is_null()) std::this_thread::sleep_for(10ms);
    return job;
  }
  std::string path_of(std::int64_t job) const { return "/api/jobs/" + std::to_string(job); }

  TempFolder folder_;
  LlamaLayer layer_{folder_};
  Server server_{{layer_.weights, "--layout", layer_.layout}};
};

TEST_F(ServeStop, AJobIsCancelledWithinASecond) {
  for (const char* id : {"spectrum", "similarity", "circuits"}) {
    SCOPED_TRACE(id);
    const std::int64_t running = start_and_wait(id);
    const std::int64_t waiting = server_.start("/api/analyses", {{"id", "weights"}});
    const ClientSocket watcher(server_.port());
    watcher.send(server_.talk().request_text("GET", path_of(running) + "/events"));
    EXPECT_EQ(server_.talk().ask("DELETE", path_of(waiting)).status, 202);
    EXPECT_EQ(server_.job(waiting)["state"], "cancelled");
    GivenTime time = server_.command().time();
    EXPECT_EQ(server_.talk().ask("DELETE", path_of(running)).status, 202);
    // The waits of a thread that has ended are unknown, so they are read until the job ends.
    EXPECT_EQ(server_.finished(running, [&] { time.look(); })["state"], "cancelled");
    EXPECT_LT(time.seconds(), 1.0);
    EXPECT_TRUE(contains(watcher.receive(), "event: end"));
  }
  EXPECT_EQ(server_.get("/api/results")["reports"], json::array());
  EXPECT_EQ(server_.talk().ask("DELETE", "/api/jobs/99").status, 404);
}

TEST_F(ServeStop, LimitsTheNumberOfWatchers) {
  const std::int64_t job = start_and_wait("spectrum");
  const std::string request = server_.talk().request_text("GET", path_of(job) + "/events");
  {
    std::vector<ClientSocket> watchers;
    for (int watcher = 0; watcher < kMaxEventStreams; ++watcher) {
      watchers.emplace_back(server_.port());
      watchers.back().send(request);
      EXPECT_TRUE(contains(watchers.back().receive("\n\n"), "200 OK"));
    }
    EXPECT_EQ(server_.talk().get(path_of(job) + "/events").status, 429);
  }
  // Watchers that disconnect free their slots.
  const auto until = StopClock::now() + kLongWait;
  std::string first;
  while (!contains(first, "200 OK") && StopClock::now() < until) {
    const ClientSocket watcher(server_.port());
    watcher.send(request);
    first = watcher.receive("\r\n");
  }
  EXPECT_TRUE(contains(first, "200 OK")) << first;
}

/// The running jobs, as seen by a client that watches none.
std::size_t under_way(const Server& server) { return server.get("/api/models")["jobs"].size(); }

TEST(ServeLeft, AJobWithoutClientsIsCancelled) {
  const TempFolder folder;
  const LlamaLayer layer(folder);
  const Server server({layer.weights, "--layout", layer.layout, "--cancel-unwatched", "1"});
  const auto wait_until_none = [&] {
    const auto until = StopClock::now() + kLongWait;
    while (under_way(server) > 0 && StopClock::now() < until) std::this_thread::sleep_for(20ms);
  };
  const std::int64_t job = server.start("/api/analyses", {{"id", "spectrum"}});
  const std::string request =
      server.talk().request_text("GET", "/api/jobs/" + std::to_string(job) + "/events");
  {
    const ClientSocket stays(server.port());
    stays.send(request);
    EXPECT_TRUE(contains(stays.receive("\n\n"), "200 OK"));
    {
      const ClientSocket leaves(server.port());
      leaves.send(request);
      EXPECT_TRUE(contains(leaves.receive("\n\n"), "200 OK"));
    }
    std::this_thread::sleep_for(3s);
    EXPECT_EQ(under_way(server), 1u) << "one client still watches";
  }
  wait_until_none();
  EXPECT_EQ(server.job(job)["state"], "cancelled");
  // No client ever asks about this job. The next one has a client that does.
  const std::int64_t left = server.start("/api/analyses", {{"id", "circuits"}});
  wait_until_none();
  EXPECT_EQ(server.job(left)["state"], "cancelled");
  EXPECT_EQ(server.finished(server.start("/api/analyses", {{"id", "weights"}}))["state"], "done");
}

TEST_F(ServeStop, CtrlCEndsItDuringAJobWithStalledReaders) {
  const std::int64_t job = start_and_wait("spectrum");
  const ClientSocket watcher(server_.port()), silent(server_.port());
  watcher.send(server_.talk().request_text("GET", path_of(job) + "/events"));
  silent.send("POST /api/attention HTTP/1.1\r\nContent-");
  watcher.receive("\n\n");
  const RunResult result = server_.stop();
  EXPECT_EQ(result.exit_code, 128 + SIGINT) << result.err;
  EXPECT_LT(result.seconds, 1.0);
  EXPECT_FALSE(contains(result.err, "error")) << result.err;
}

}  // namespace
}  // namespace attnscope::test
