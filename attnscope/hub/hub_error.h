// Errors of the hub, and their messages.
#pragma once

#include <optional>
#include <string>

#include "attnscope/base/error.h"
#include "attnscope/hub/http_connection.h"
#include "attnscope/hub/settings.h"

namespace attnscope {

enum class HubFault {
  no_model,  // or it is hidden from this user
  gated,     // the user has not accepted its conditions
  bad_token,
  no_revision,
  no_file,
  unreachable,  // no response, or an incomplete one
  rate_limited,
  other,
};

class HubError : public Error {
 public:
  HubError(HubFault fault, ErrorParts parts, bool is_temporary = false,
           std::optional<double> wait_seconds = std::nullopt)
      : Error(ErrorKind::io, std::move(parts)),
        fault_(fault),
        is_temporary_(is_temporary),
        wait_seconds_(wait_seconds) {}

  HubFault fault() const { return fault_; }
  /// Whether a retry may succeed a moment later.
  bool is_temporary() const { return is_temporary_; }
  /// Returns how long the server asks to wait; nothing if it does not specify a time.
  std::optional<double> wait_seconds() const { return wait_seconds_; }

 private:
  HubFault fault_;
  bool is_temporary_;
  std::optional<double> wait_seconds_;
};

/// The subject of a request. `file` is empty if it is the whole model.
struct HubSubject {
  std::string model;  // as the user typed it
  std::string repo;
  std::string revision;
  std::string file;
};

/// Returns the error for a response of `host` that is neither a success nor a redirect.
HubError error_of_answer(const WebResponse& response, const std::string& host,
                         const HubSubject& subject, const HubSettings& settings);

/// Returns the error for a missing response.
HubError error_of_connection(const ConnectionError& error, const std::string& host,
                             const HubSubject& subject);

}  // namespace attnscope
