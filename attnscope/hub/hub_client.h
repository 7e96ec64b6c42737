// Asks the hub: what a revision holds, where a file is, its bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnscope/hub/connection.h"
#include "attnscope/hub/hub_error.h"
#include "attnscope/hub/model_id.h"
#include "attnscope/hub/settings.h"

namespace attnscope {

/// What all clients of a command share.
struct HubContext {
  HubSettings settings;
  std::stop_token stop;
  /// Called by any thread, one at a time, with what the user should know: a wait, an old copy.
  std::function<void(const std::string&)> on_note;
};

/// A file of a repository, as the hub lists it.
struct HubFile {
  std::string path;                   // from the repository's root
  std::optional<std::uint64_t> size;  // bytes, where the hub says
  std::string etag;                   // likewise, else empty
};

struct HubListing {
  std::string commit;
  std::vector<HubFile> files;
};

struct HubFileFacts {
  std::string etag;  // without quotes: a plain name
  std::optional<std::uint64_t> size;
  std::string location;  // where its bytes are; good for some minutes, where that is another host
};

/// One connection to the hub and to wherever it sends us. For one thread at a time. All throw
/// HubError and Stopped; what is temporary is tried again, five times, unless `retries` is 0.
class HubClient {
 public:
  static constexpr int kRetries = 5;

  /// `context` must outlive it.
  HubClient(const HubContext& context, HubSubject subject);

  HubListing list(int retries = kRetries);
  /// Branches, then tags.
  std::vector<std::string> revisions();
  /// Of a file of that commit.
  HubFileFacts facts(const std::string& commit, const std::string& path);
  /// The address at which the hub gives a file of that commit.
  std::string address_of(const std::string& commit, const std::string& path) const;

  /// One GET, wherever it leads; no other try. `on_header` sees a success alone. The token goes to
  /// the hub itself and to nobody else. `final_url`, where not null, becomes the address that
  /// answered.
  WebResponse get(const WebRequest& request, const WebReader& reader,
                  std::string* final_url = nullptr);

  /// What its errors are about from now on.
  void set_file(const std::string& path) { subject_.file = path; }
  void set_subject(const HubSubject& subject) { subject_ = subject; }
  const HubSubject& subject() const { return subject_; }

  /// Waits before a try again after such an error: as long as the server wants, else twice as long
  /// each time. Throws Stopped.
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
