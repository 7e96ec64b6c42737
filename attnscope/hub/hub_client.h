// Requests to the hub: the files of a revision, where a file is, its bytes. Follows redirects,
// drops the token when a redirect leaves the hub, and retries.
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
  /// Called with notes for the user (a wait, an old copy). On any thread, one call at a time.
  std::function<void(const std::string&)> on_note;
};

/// A file of a repository, as the hub lists it.
struct HubFile {
  std::string path;                   // from the repository's root
  std::optional<std::uint64_t> size;  // bytes; none if the hub does not say
  std::string etag;                   // empty if the hub does not say
};

struct HubListing {
  std::string commit;
  std::vector<HubFile> files;
};

struct HubFileFacts {
  std::string etag;  // without quotes: a plain name
  std::optional<std::uint64_t> size;
  std::string location;  // where its bytes are; expires after some minutes on another host
};

/// A connection to the hub and to the hosts that it redirects to. For one thread at a time. All
/// functions throw HubError and Stopped. Temporary errors are retried five times, unless `retries`
/// is 0.
class HubClient {
 public:
  static constexpr int kRetries = 5;

  /// `context` must outlive it.
  HubClient(const HubContext& context, HubSubject subject);

  HubListing list(int retries = kRetries);
  /// Branches, then tags.
  std::vector<std::string> revisions();
  /// The facts of a file of that commit.
  HubFileFacts facts(const std::string& commit, const std::string& path);
  /// The address at which the hub gives a file of that commit.
  std::string address_of(const std::string& commit, const std::string& path) const;

  /// One GET. Follows redirects, never retries. `on_header` is called for a success only. The token
  /// is sent to the hub only, never to another host. `final_url`, if not null, becomes the address
  /// that answered.
  WebResponse get(const WebRequest& request, const WebReader& reader,
                  std::string* final_url = nullptr);

  /// Names what later errors are about.
  void set_file(const std::string& path) { subject_.file = path; }
  void set_subject(const HubSubject& subject) { subject_ = subject; }
  const HubSubject& subject() const { return subject_; }

  /// Waits before a retry: as long as the server asks, else twice as long each time. Throws
  /// Stopped.
  void wait_after(const HubError& error, int tries);

 private:
  WebResponse follow(WebRequest request, const WebReader& reader, bool may_leave_hub,
                     std::string* final_url);
  bool is_hub(const std::string& url) const;
  std::string text_of(const std::string& url, int retries);

  const HubContext& context_;
  HubSubject subject_;
  std::string origin_;  // of the endpoint
  WebConnection connection_;
};

}  // namespace attnscope
