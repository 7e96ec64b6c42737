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
  gated,     // its conditions were not accepted
  bad_token,
  no_revision,
  no_file,
  unreachable,  // no answer, or an incomplete one
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
  /// Whether the same may work a moment later.
  bool is_temporary() const { return is_temporary_; }
  /// How long the server asks to wait; nothing if it does not say.
  std::optional<double> wait_seconds() const { return wait_seconds_; }

 private:
  HubFault fault_;
  bool is_temporary_;
  std::optional<double> wait_seconds_;
};

/// What was requested; `file` is empty if it is the whole model.
struct HubSubject {
  std::string model;  // as the user named it
  std::string repo;
  std::string revision;
  std::string file;
};

/// The error for an answer of `host` that is neither a success nor a redirect.
HubError error_of_answer(const WebResponse& response, const std::string& host,
                         const HubSubject& subject, const HubSettings& settings);

/// The error for a missing answer.
HubError error_of_connection(const ConnectionError& error, const std::string& host,
                             const HubSubject& subject);

}  // namespace attnscope
