// The bytes of a file on the hub, fetched range by range, without a local copy.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attnscope/checkpoint/remote_bytes.h"
#include "attnscope/hub/hub_client.h"

namespace attnscope {

/// A pool of open connections. A thread takes one and gives it back.
class HubConnections {
 public:
  explicit HubConnections(HubContext context) : context_(std::move(context)) {}

  std::unique_ptr<HubClient> take(const HubSubject& subject);
  void give_back(std::unique_ptr<HubClient> client);

 private:
  HubContext context_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HubClient>> free_;
};

/// Returns a source of the bytes of a file at a commit. `subject.file` is its path in the
/// repository.
std::shared_ptr<RangeSource> range_source(std::shared_ptr<HubConnections> connections,
                                          HubSubject subject, std::string commit,
                                          std::uint64_t bytes);

}  // namespace attnscope
