// Requests to the hub: the files of a revision, the address of a file, its bytes. Follows
// redirects, drops the token when a redirect leaves the hub, and retries.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnscope/hub/http_connection.h"
#include "attnscope/hub/hub_error.h"
#include "attnscope/hub/model_id.h"
#include "attnscope/hub/settings.h"

namespace attnscope {

/// Shared by all clients of a command.
struct HubContext {
  HubSettings settings;
  std::stop_token stop;
  /// Receives notes for the user (a wait, an old cached copy). Called on any thread, but never
  /// concurrently.
  std::function<void(const std::string&)> on_note;
};

/// An entry of the hub's file list.
struct HubFile {
  std::string path;                   // relative to the root of the repository
  std::optional<std::uint64_t> size;  // bytes; none if the hub does not report it
  std::string etag;                   // empty if the hub does not report it
};

struct HubListing {
  std::string commit;
  std::vector<HubFile> files;
};

struct HubFileFacts {
  std::string etag;  // without quotes, usable as a file name
  std::optional<std::uint64_t> size;
  std::string location;  // the address of the bytes; expires after some minutes on another host
};

/// A connection to the hub and to the hosts that it redirects to. Not thread-safe. All functions
/// throw HubError and Stopped. Temporary errors are retried five times, unless `retries` is 0.
class HubClient {
 public:
  static constexpr int kRetries = 5;

  /// `context` must outlive the client.
  HubClient(const HubContext& context, HubSubject subject);

  HubListing list(int retries = kRetries);
  /// Returns branches, then tags.
  std::vector<std::string> revisions();
  /// Returns size and ETag of a file of that commit.
  HubFileFacts facts(const std::string& commit, const std::string& path);
  /// Returns the hub's address of a file of that commit.
  std::string address_of(const std::string& commit, const std::string& path) const;

  /// Sends one GET. Follows redirects, never retries. `on_header` is called only on success. The
  /// token is sent to the hub only, never to another host. `final_url`, if not null, becomes the
  /// address that responded.
  WebResponse get(const WebRequest& request, const WebReader& reader,
                  std::string* final_url = nullptr);

  /// Sets the model and file that later errors name.
  void set_file(const std::string& path) { subject_.file = path; }
  void set_subject(const HubSubject& subject) { subject_ = subject; }
  const HubSubject& subject() const { return subject_; }

  /// Waits before a retry: as long as the server asks, otherwise twice as long each time. Throws
  /// Stopped.
  void wait_after(const HubError& error, int tries);

 private:
  WebResponse follow(WebRequest request, const WebReader& reader, bool may_leave_hub,
                     std::string* final_url);
  bool is_hub(const std::string& url) const;
  std::string text_of(const std::string& url, int retries);

  const HubContext& context_;
  HubSubject subject_;
  std::string origin_;  // the endpoint's origin
  WebConnection connection_;
};

}  // namespace attnscope
