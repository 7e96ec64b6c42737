// A hub on this machine, as hub_server.py describes it, and a cache of its own for each test.
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

  /// Offers a copy of a folder of tests/data as that revision of a model.
  void offer(const std::string& model, const std::string& data,
             const std::string& revision = "main");
  /// What the server does to whoever asks for that model: {{"gated", true}}.
  void set_options(const std::string& model, const json& options);
  /// What goes wrong from now on.
  void set_faults(const std::vector<json>& faults);

  /// Requests so far; each an object of "host" (hub or cdn), "method", "path", "sent", …
  std::vector<json> requests() const;
  void forget_requests();
  /// Bytes of bodies that the second host has sent.
  std::uint64_t sent_bytes() const;

  std::filesystem::path folder_of(const std::string& model,
                                  const std::string& revision = "main") const;
  /// The folder of that model in the cache.
  std::filesystem::path cached(const std::string& model) const;
  std::filesystem::path home() const { return folder_.path() / "home"; }
  const std::string& address() const { return address_; }

  /// With the variables that lead a command here.
  RunOptions options() const;
  RunOptions offline() const;

 private:
  TempFolder folder_;
  pid_t process_ = -1;
  int input_ = -1;  // the server ends when it is closed
  std::string address_;
};

}  // namespace attnscope::test
