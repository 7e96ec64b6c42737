// Names of hosts that a server listens at, and is spoken to by.
#pragma once

#include <string>

namespace attnscope {

/// Whether only this machine reaches that address: 127.0.0.0/8, ::1, localhost.
bool is_loopback(const std::string& host);

/// Whether it is no address but stands for all that this machine has: "0.0.0.0", "::", "0".
bool is_any_address(const std::string& host);

/// What a browser can open for that host, here and, where it can be, on other machines: for all
/// addresses of this machine the first that is no loopback.
std::string host_to_open(const std::string& host);

/// "127.0.0.1:80", "[::1]:80".
std::string host_and_port(const std::string& host, int port);

/// Whether `host` is a numeric address, bare or in brackets.
bool is_numeric_address(const std::string& host);

}  // namespace attnscope
