// Requests and answers as plain data, so that what answers them needs no socket.
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

#include "attnscope/core/error.h"
#include "attnscope/results/record.h"

namespace attnscope {

struct HttpRequest {
  std::string method;
  std::string path;  // without the query, its escapes undone
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // by names in lower case; each may come once
  std::string body;

  /// Empty where there is none.
  std::string header(const std::string& name) const;
};

/// A body that is read as it is sent.
struct BodyParts {
  std::uint64_t length = 0;
  std::function<std::string(std::uint64_t offset, std::size_t length)> read;
};

/// A stream of server-sent events: the next ones as text, waited for a second at most; nothing when
/// it is over.
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

/// What an error says as JSON: its kind, its message, and the parameter and the hint where it has
/// them.
Record error_record(const Error& error);

/// The same as an answer; the kind decides the status.
HttpAnswer error_answer(const Error& error);

/// A body that others hold too.
BodyParts shared_body(std::shared_ptr<const std::string> bytes);

}  // namespace attnscope
