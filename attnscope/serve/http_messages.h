// Requests and answers as plain data, so that handlers need no socket.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/rows/record.h"

namespace attnscope {

struct HttpRequest {
  std::string method;
  std::string path;  // without the query, unescaped
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // by name in lower case; each at most once
  std::string body;

  /// The value of a header; empty if there is none.
  std::string header(const std::string& name) const;
};

/// A body that is produced while it is sent.
struct BodyParts {
  std::uint64_t length = 0;
  std::function<std::string(std::uint64_t offset, std::size_t length)> read;
};

/// A stream of server-sent events. Each call returns the next events as text, after waiting at most
/// a second; nothing at the end.
using NextEvents = std::function<std::optional<std::string>()>;

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::variant<std::string, BodyParts, NextEvents> body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

HttpAnswer json_answer(const Record& record, int status = 200);

/// {"error": {"kind", "message"}}.
HttpAnswer refusal(int status, std::string_view kind, std::string_view message);

/// An error as JSON: its kind, its message, and its parameter and hint if it has them.
Record error_record(const Error& error);

/// The error as an answer; its kind determines the status.
HttpAnswer error_answer(const Error& error);

/// A body with shared ownership of its bytes.
BodyParts shared_body(std::shared_ptr<const std::string> bytes);

}  // namespace attnscope
