// `serve` with malicious or careless clients.
#include <sys/resource.h>

#include "attnscope/serve/limits.h"
#include "tests/serve/server.h"

namespace attnscope::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(ServeUntrusted, RejectsForeignHostsAndPages) {
  const Server server;
  Talk talk = server.talk();
  talk.headers = {{"Host", "evil.example:" + std::to_string(server.port())}};
  for (const char* path : {"/", "/api/models", "/api/maps/0/0/0", "/nothing"}) {
    EXPECT_EQ(talk.get(path).status, 403) << path;
  }
  EXPECT_EQ(talk.post("/api/attention", R"({"text":"a"})").status, 403);
  talk.headers = {{"Origin", "http://evil.example"}};
  EXPECT_EQ(talk.get("/api/results").status, 403);
  EXPECT_EQ(talk.post("/api/attention", R"({"text":"a"})").status, 403);
  EXPECT_EQ(talk.ask("DELETE", "/api/jobs/1").status, 403);
  talk.headers = {{"Origin", "http://127.0.0.1:" + std::to_string(server.port())}};
  EXPECT_EQ(talk.get("/api/results").status, 200);
  EXPECT_EQ(server.talk().get("/api/jobs/1").status, 404) << "something was started";
}

TEST(ServeUntrusted, HeadIsGetWithoutABody) {
  const Server server;
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n\r\n";
  for (const char* path : {"/", "/api/models", "/api/results", "/api/values", "/api/events"}) {
    SCOPED_TRACE(path);
    const ClientSocket socket(server.port());
    socket.send(std::string("HEAD ") + path + " HTTP/1.1\r\n" + host);
    const HttpReply head = parse_reply(socket.receive());
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.body, "");
    if (path == std::string("/api/events")) continue;
    const HttpReply whole = server.talk().get(path);
    EXPECT_EQ(head.headers.at("content-length"), std::to_string(whole.body.size()));
    EXPECT_EQ(head.headers.at("accept-ranges"), "none");
    EXPECT_EQ(whole.headers.at("accept-ranges"), "none");
  }
  server.expect_alive();
}

TEST(ServeUntrusted, RejectsMalformedBodiesWithAReason) {
  const Server server;
  const std::string long_text(kRunTextLimitBytes + 1, 'a');
  std::string deep(200, '[');
  const struct {
    std::string path, body;
    int status;
    std::string said;
  } cases[] = {
      {"/api/attention", "{", 400, "not JSON"},
      {"/api/attention", "[]", 400, "not a JSON object"},
      {"/api/attention", "null", 400, "not a JSON object"},
      {"/api/attention", "{}", 400, "missing input"},
      {"/api/attention", "{} {}", 400, "not JSON"},
      {"/api/attention", R"({"text":""})", 400, "is empty"},
      {"/api/attention", R"({"text":5})", 400, "not a string"},
      {"/api/attention", R"({"text":null})", 400, "not a string"},
      {"/api/attention", R"({"text":"a","text":"b"})", 400, "duplicate key"},
      {"/api/attention", R"({"text":"a","file":"/etc/passwd"})", 400, "unknown parameter"},
      {"/api/attention", R"({"text_file":"/etc/passwd"})", 400, "unknown parameter"},
      {"/api/attention", R"({"text":"a","maps":"/tmp/x"})", 400, "unknown parameter"},
      {"/api/attention", R"({"text":"a","store":"/tmp/x"})", 400, "unknown parameter"},
      {"/api/attention", R"({"text":"a","model":"../.."})", 400, "not served here"},
      {"/api/attention", R"({"text":"a","exclude_first_token":"yes"})", 400, "not a boolean"},
      {"/api/attention", "{\"text\":\"\xff\"}", 400, "not JSON"},
      {"/api/attention", json{{"text", long_text}}.dump(), 400, "exceeds the limit"},
      {"/api/attention", json{{"tokens", long_text}}.dump(), 400, "exceeds the limit"},
      {"/api/attention", deep, 400, "nested deeper"},
      {"/api/attention", std::string(kBodyLimitBytes + 1, ' '), 413, "exceeds the limit"},
      {"/api/attention", R"({"text":"a","tokens":"1"})", 400, "cannot be combined with"},
      {"/api/attention", R"({"text":"a","layers":"--out=/tmp/x"})", 400, "layers"},
      {"/api/analyses", "{}", 400, "no other parameter"},
      {"/api/analyses", R"({"id":"nothing"})", 400, "is not an analysis"},
      {"/api/analyses", R"({"id":"attention"})", 400, "is not an analysis"},
      {"/api/analyses", R"({"id":["spectrum"]})", 400, "not a string"},
      {"/api/analyses", R"({"id":"spectrum","models":"/"})", 400, "no other parameter"},
  };
  for (const auto& [path, body, status, said] : cases) {
    SCOPED_TRACE(body.substr(0, 60));
    const HttpReply reply = server.talk().post(path, body);
    EXPECT_EQ(reply.status, status);
    const json refusal = json::parse(reply.body);
    EXPECT_FALSE(refusal["error"]["kind"].get<std::string>().empty());
    EXPECT_TRUE(contains(refusal["error"]["message"].get<std::string>(), said)) << reply.body;
  }
  Talk form = server.talk();
  // Allowed for pages of other sites without a preflight request.
  form.headers["Content-Type"] = "text/plain";
  EXPECT_EQ(form.post("/api/attention", R"({"text":"a"})").status, 400);
  form.headers = {{"Content-Encoding", "gzip"}};
  EXPECT_EQ(form.post("/api/attention", R"({"text":"a"})").status, 400);
  EXPECT_EQ(server.talk().get("/api/jobs/1").status, 404) << "something was started";
}

TEST(ServeUntrusted, TreatsMaliciousTextsAsTexts) {
  const Server server;
  for (const std::string& text :
       {std::string("</script><script>alert(1)</script>"), std::string("\x1b[2J \xe2\x80\xae nus"),
        std::string("a\0b", 3), std::string("{layers}"), std::string(2000, '\n')}) {
    const json job = server.finished(server.start("/api/attention", {{"text", text}}));
    EXPECT_TRUE(job["state"] == "done" || job["error"]["kind"] == "usage") << job;
  }
  server.expect_alive();
}

TEST(ServeUntrusted, RejectsOrDropsBadRequests) {
  const Server server;
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\r\n";
  std::string ranges = "GET /api/models HTTP/1.1\r\n" + host + "Range: bytes=";
  for (int range = 0; range < 3000; ++range) ranges += "0-1,";
  const struct {
    std::string request;
    int status;
  } cases[] = {
      {"\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\n" + host + "\r\n", 400},
      {"BREW / HTTP/1.1\r\n" + host + "\r\n", 405},
      {"get / HTTP/1.1\r\n" + host + "\r\n", 405},
      {"BREW /nothing HTTP/1.1\r\n" + host + "\r\n", 404},
      {"BR(W / HTTP/1.1\r\n" + host + "\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "X: a\r\n b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "X: a\r\n\tHost: b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n " + host + "\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + std::string("X: a\0b\r\n\r\n", 10), 400},
      {"GET / HTTP/1.1\r\n" + host + "X: a\nY: b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "Origin : a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n" + host + "no header\r\n\r\n", 400},
      {std::string("\x16\x03\x01\x02\0\x01\0\r\n\r\n", 11), 400},
      {"GET / HTTP/1.1\r\n\r\n", 403},
      {"GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
      {"GET /" + std::string(5000, 'a') + " HTTP/1.1\r\n" + host + "\r\n", 414},
      {"GET /" + std::string(30000, 'a'), 431},
      {"GET / HTTP/1.1\r\n" + host + "X: " + std::string(30000, 'a') + "\r\n\r\n", 431},
      {ranges + "0-1\r\n\r\n", 200},
      {"GET /api/models HTTP/1.1\r\n" + host + "Accept-Encoding: br\r\nRange: bytes=0-1\r\n\r\n",
       200},
      {"GET /api/models HTTP/1.1\r\n" + host + "Content-Length: 3\r\n\r\nabc", 400},
      {"GET /api/models?a=%zz&b=%00&=&&= HTTP/1.1\r\n" + host + "\r\n", 200},
      {"POST /api/attention HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n", 411},
      {"POST /api/attention HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n", 411},
      {"POST /api/attention HTTP/1.1\r\n" + host + "Content-Length: 1e9\r\n\r\n", 411},
      {"POST /api/attention HTTP/1.1\r\n" + host + "Content-Length: 4000000000\r\n\r\n", 413},
      {"POST /api/attention HTTP/1.1\r\n" + host + "Content-Length: 99999999999999\r\n\r\n", 411},
      {"POST /api/attention HTTP/1.1\r\n" + host + "Content-Length: 2\r\n\r\n{}", 400},
      {"POST /api/models HTTP/1.1\r\n" + host + "\r\n", 405},
      {"PUT /api/models HTTP/1.1\r\n" + host + "\r\n", 405},
      {"OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 404},
      {"GET /../../etc/passwd HTTP/1.1\r\n" + host + "\r\n", 404},
      {"GET /%2e%2e/etc/passwd HTTP/1.1\r\n" + host + "\r\n", 404},
      {"GET /api/maps/0/0/99999999999999999999 HTTP/1.1\r\n" + host + "\r\n", 404},
      {"GET /api/maps/0/0/-1 HTTP/1.1\r\n" + host + "\r\n", 404},
      {"GET /api/jobs/1/../1 HTTP/1.1\r\n" + host + "\r\n", 404},
  };
  for (const auto& [request, status] : cases) {
    SCOPED_TRACE(request.substr(0, 70));
    const ClientSocket socket(server.port());
    socket.send(request);
    const HttpReply reply = parse_reply(socket.receive());
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_FALSE(contains(reply.body, "root:"));
    EXPECT_EQ(reply.headers.count("content-encoding") + reply.headers.count("content-range"), 0u);
  }
  const ClientSocket brewer(server.port());
  brewer.send("BREW /api/models HTTP/1.1\r\n" + host + "\r\n");
  EXPECT_EQ(parse_reply(brewer.receive()).headers["allow"], "GET, HEAD");
  const ClientSocket gone(server.port());  // connects and sends nothing
  server.expect_alive();
}

TEST(ServeUntrusted, ServesAThousandClientsAtOnce) {
  const Server server;
  rlimit files{};  // limit of this process, which contains all clients
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  constexpr int kClients = 1000;
  std::vector<ClientSocket> sockets;
  for (int client = 0; client < kClients; ++client) sockets.emplace_back(server.port());
  const std::string request = server.talk().request_text("GET", "/api/models");
  for (const ClientSocket& socket : sockets) socket.send(request);
  int answered = 0;
  for (const ClientSocket& socket : sockets)
    answered += parse_reply(socket.receive()).status == 200;
  EXPECT_EQ(answered, kClients);
  server.expect_alive();
}

TEST(ServeUntrusted, StalledReadersDoNotDelayOthers) {
  const Server server;
  std::string tokens = "1";
  for (int token = 1; token < 250; ++token) tokens += ",1";
  server.finished(server.start("/api/attention", {{"tokens", tokens}}));
  const std::string path = "/api/maps/0/0/0";  // larger than the socket buffers
  ASSERT_EQ(server.talk().get(path).body.size(), 250'000u);
  const auto answers_take = [&] {
    const auto start = Clock::now();
    for (int request = 0; request < 20; ++request) server.expect_alive();
    return Clock::now() - start;
  };
  const auto alone = answers_take();
  std::vector<ClientSocket> stalled;
  for (std::size_t reader = 0; reader < kMaxConnections + 20; ++reader) {
    stalled.emplace_back(server.port(), /*receive_bytes=*/4096);
    // Some never complete their request, and some never read.
    const std::string request = server.talk().request_text("GET", path);
    stalled.back().send(reader % 2 == 0 ? request : request.substr(0, request.size() - 2));
  }
  // Waiting until such readers are disconnected would take longer.
  EXPECT_LT(answers_take(), kStallTime + kPatience + 20 * alone);
}

TEST(ServeUntrusted, DisconnectsSilentClients) {
  const Server server;
  const ClientSocket silent(server.port()), slow(server.port());
  slow.send("GET / HT");
  EXPECT_TRUE(silent.closes_within(kRequestTime + kLongWait));
  EXPECT_TRUE(slow.closes_within(kLongWait));
}

TEST(ServeUntrusted, LimitsQueuedJobs) {
  const Server server;
  std::vector<std::int64_t> jobs;
  HttpReply last;
  for (int request = 0; request < 40; ++request) {
    last = server.talk().post("/api/attention", json{{"text", std::string(1500, 'a')}}.dump());
    if (last.status != 202) break;
    jobs.push_back(json::parse(last.body).at("job"));
  }
  EXPECT_EQ(last.status, 429) << last.body;
  EXPECT_EQ(last.header("retry-after"), "1");
  EXPECT_GE(jobs.size(), kMaxQueuedJobs);
  for (const std::int64_t job : jobs)
    server.talk().ask("DELETE", "/api/jobs/" + std::to_string(job));
  for (const std::int64_t job : jobs) server.finished(job);
}

}  // namespace
}  // namespace attnscope::test
