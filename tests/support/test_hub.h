// A local hub server, described in hub_server.py, with a separate cache for each test.
#pragma once

#include <sys/types.h>

#include "tests/support/program.h"

namespace attnscope::test {

class TestHub {
 public:
  TestHub();
  ~TestHub();
  TestHub(const TestHub&) = delete;
  TestHub& operator=(const TestHub&) = delete;

  /// Offers a copy of a folder of tests/data as this revision of a model.
  void offer(const std::string& model, const std::string& data,
             const std::string& revision = "main");
  /// Server settings for a model, such as {{"gated", true}}.
  void set_options(const std::string& model, const json& options);
  /// Errors that the server simulates from now on.
  void set_faults(const std::vector<json>& faults);

  /// Requests so far: objects with "host" (hub or cdn), "method", "path", "sent", …
  std::vector<json> requests() const;
  void forget_requests();
  /// Bytes of response bodies that the second host (cdn) has sent.
  std::uint64_t sent_bytes() const;

  std::filesystem::path folder_of(const std::string& model,
                                  const std::string& revision = "main") const;
  /// The folder of this model in the cache.
  std::filesystem::path cached(const std::string& model) const;
  std::filesystem::path home() const { return folder_.path() / "home"; }
  const std::string& address() const { return address_; }

  /// Options with the environment variables that point a command to this hub.
  RunOptions options() const;
  RunOptions offline() const;

 private:
  TempFolder folder_;
  pid_t process_ = -1;
  int input_ = -1;  // closing it ends the server
  std::string address_;
};

}  // namespace attnscope::test
