// A running `attnscope serve` for tests.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

#include "tests/support/http_client.h"
#include "tests/support/program.h"

namespace attnscope::test {

inline const std::string kServedModel = source_path("examples/shakespeare-gpt2");

class Server {
 public:
  explicit Server(const Words& arguments = {kServedModel}, RunOptions options = {})
      : command_(Words{"serve", "--port", "0", "--quiet"} + arguments, std::move(options)) {
    command_.wait_until([&] { return contains(command_.printed(), "\n"); });
    address_ = command_.printed().substr(0, command_.printed().find('\n'));
    const std::size_t colon = address_.rfind(':');
    if (colon == std::string::npos) throw std::runtime_error("no address: " + address_);
    talk_.port = std::stoi(address_.substr(colon + 1));
  }

  const std::string& address() const { return address_; }
  int port() const { return talk_.port; }
  const Talk& talk() const { return talk_; }
  RunningCommand& command() { return command_; }

  json get(const std::string& path) const { return json::parse(talk_.get(path).body); }
  /// Starts a job and returns its id.
  std::int64_t start(const std::string& path, const json& body) const {
    const HttpReply reply = talk_.post(path, body.dump());
    EXPECT_EQ(reply.status, 202) << reply.body;
    return json::parse(reply.body).at("job");
  }
  json job(std::int64_t id) const { return get("/api/jobs/" + std::to_string(id)); }
  /// The job after it has ended. Until then, `look` is called repeatedly.
  json finished(std::int64_t id, const std::function<void()>& look = {}) const {
    json found;
    do {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (look) look();
      found = job(id);
    } while (found["state"] == "queued" || found["state"] == "running");
    return found;
  }
  /// Checks that the server still responds.
  void expect_alive() const { EXPECT_EQ(talk_.get("/api/models").status, 200); }

  /// Stops the server like Ctrl-C.
  RunResult stop() {
    command_.send(SIGINT);
    return command_.wait();
  }

 private:
  RunningCommand command_;
  std::string address_;
  Talk talk_;
};

}  // namespace attnscope::test
