#include "attnscope/serve/access_control.h"

#include <gtest/gtest.h>

#include "attnscope/serve/listen_address.h"

namespace attnscope {
namespace {

/// The HTTP status of a rejected request; 0 if it is allowed.
int status_of(const Gate& gate, std::map<std::string, std::string> headers,
              std::map<std::string, std::string> query = {}) {
  const auto refused = refuse_stranger(
      gate, {.method = "GET", .query = std::move(query), .headers = std::move(headers)});
  return refused ? refused->status : 0;
}

TEST(Gate, AcceptsTheNamesOfThisMachine) {
  const Gate gate = gate_of("127.0.0.1", 8000, "");
  for (const char* own : {"127.0.0.1:8000", "localhost:8000", "[::1]:8000"}) {
    EXPECT_EQ(status_of(gate, {{"host", own}}), 0) << own;
  }
  for (const char* foreign :
       {"", "localhost", "localhost:8001", "127.0.0.1", "evil.example:8000",
        "localhost:8000.evil.example", "evil.example:8000/localhost:8000", "127.0.0.2:8000",
        "10.0.0.7:8000", "localhost:80000", "LOCALHOST.:8000", "user@localhost:8000"}) {
    EXPECT_EQ(status_of(gate, {{"host", foreign}}), 403) << foreign;
  }
  EXPECT_EQ(status_of(gate, {}), 403);
}

TEST(Gate, RejectsPagesOfOtherSites) {
  const Gate gate = gate_of("127.0.0.1", 8000, "");
  const auto from = [&](const char* origin) {
    return status_of(gate, {{"host", "localhost:8000"}, {"origin", origin}});
  };
  EXPECT_EQ(from("http://localhost:8000"), 0);
  for (const char* foreign :
       {"null", "", "http://evil.example", "https://localhost:8000", "http://localhost:8001",
        "http://127.0.0.1:8000", "http://localhost:8000.evil.example"}) {
    EXPECT_EQ(from(foreign), 403) << foreign;
  }
}

TEST(Gate, UsesTheFetchMetadataOfBrowsers) {
  const Gate gate = gate_of("127.0.0.1", 8000, "");
  const auto asked = [&](const char* method, std::map<std::string, std::string> headers) {
    headers.emplace("host", "localhost:8000");
    const auto refused = refuse_stranger(gate, {.method = method, .headers = std::move(headers)});
    return refused ? refused->status : 0;
  };
  for (const char* own : {"same-origin", "none"}) {
    EXPECT_EQ(asked("POST", {{"sec-fetch-site", own}}), 0) << own;
  }
  for (const char* site : {"cross-site", "same-site", "else"}) {
    SCOPED_TRACE(site);
    EXPECT_EQ(asked("GET", {{"sec-fetch-site", site}}), 403);
    EXPECT_EQ(asked("POST", {{"sec-fetch-site", site}}), 403);
    std::map<std::string, std::string> link = {
        {"sec-fetch-site", site}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "document"}};
    EXPECT_EQ(asked("GET", link), 0) << "a link that a user follows";
    EXPECT_EQ(asked("POST", link), 403) << "a form";
    link["sec-fetch-dest"] = "iframe";
    EXPECT_EQ(asked("GET", link), 403);
  }
}

TEST(Gate, RequiresTheExactToken) {
  const Gate gate = gate_of("127.0.0.1", 8000, "0123456789");
  const std::map<std::string, std::string> host = {{"host", "localhost:8000"}};
  EXPECT_EQ(status_of(gate, host), 401);
  for (const char* wrong : {"", "012345678", "01234567890", "0123456780"}) {
    EXPECT_EQ(status_of(gate, host, {{"token", wrong}}), 401) << wrong;
  }
  EXPECT_EQ(status_of(gate, host, {{"token", "0123456789"}}), 0);
  const auto with = [&](const char* header) {
    return status_of(gate, {{"host", "localhost:8000"}, {"authorization", header}});
  };
  EXPECT_EQ(with("Bearer 0123456789"), 0);
  EXPECT_EQ(with("Bearer 012345678"), 401);
  EXPECT_EQ(with("0123456789"), 401);
  EXPECT_EQ(random_token().size(), 32u);
  EXPECT_NE(random_token(), random_token());
}

TEST(Gate, AServerForAllAddressesAcceptsNumericButNoForeignHosts) {
  const Gate gate = gate_of("0.0.0.0", 8000, "");
  for (const char* own : {"10.0.0.7:8000", "[fe80::1]:8000", "localhost:8000", "0.0.0.0:8000"}) {
    EXPECT_EQ(status_of(gate, {{"host", own}}), 0) << own;
  }
  for (const char* foreign :
       {"evil.example:8000", "10.0.0.7:8001", "10.0.0.7", "10.0.0.7.evil:8000"}) {
    EXPECT_EQ(status_of(gate, {{"host", foreign}}), 403) << foreign;
  }
  const Gate named = gate_of("big.example", 8000, "");
  EXPECT_EQ(status_of(named, {{"host", "big.example:8000"}}), 0);
  EXPECT_EQ(status_of(named, {{"host", "localhost:8000"}}), 403);
}

TEST(Gate, AcceptsAnOmittedDefaultPort) {
  const Gate gate = gate_of("127.0.0.1", 80, "");
  EXPECT_EQ(status_of(gate, {{"host", "localhost"}, {"origin", "http://localhost"}}), 0);
}

TEST(Address, ReplacesAWildcardAddressByOneToOpen) {
  for (const char* any : {"0.0.0.0", "::", "0", "0::0"}) {
    EXPECT_TRUE(is_any_address(any)) << any;
    EXPECT_TRUE(is_numeric_address(host_to_open(any))) << host_to_open(any);
    EXPECT_FALSE(is_any_address(host_to_open(any))) << host_to_open(any);
  }
  for (const char* one : {"127.0.0.1", "::1", "localhost", "10.0.0.7", "big.example", ""}) {
    EXPECT_FALSE(is_any_address(one)) << one;
    EXPECT_EQ(host_to_open(one), one);
  }
}

TEST(Address, DetectsLoopbackAddresses) {
  for (const char* own : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    EXPECT_TRUE(is_loopback(own)) << own;
  }
  for (const char* open :
       {"0.0.0.0", "::", "10.0.0.7", "example.org", "127.0.0.1.example.org", ""}) {
    EXPECT_FALSE(is_loopback(open)) << open;
  }
  EXPECT_EQ(host_and_port("::1", 80), "[::1]:80");
  EXPECT_EQ(host_and_port("localhost", 80), "localhost:80");
}

}  // namespace
}  // namespace attnscope
