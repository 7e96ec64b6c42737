// Models by their names on the hub: out of the cache, downloaded into it, or read where they are.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/hub/download.h"
#include "attnscope/hub/hub_client.h"
#include "attnscope/hub/model_id.h"

namespace attnscope {

class HubCache;
class HubConnections;

/// Where a model's files are.
struct HubModel {
  CheckpointFolder folder;
  std::string weights;  // a file of the folder, or an index
};

/// Of one command, which finds the same models as long as it runs. Threads may share it. All
/// throw HubError, Stopped; Error(io, format, usage, unsupported) for models that cannot be opened.
class Hub {
 public:
  explicit Hub(HubContext context, DownloadProgressFn on_progress = {});
  ~Hub();

  /// Where the revision is a pattern, an id for each branch and tag that fits, in natural order; of
  /// the cache alone when offline. Throws Error(usage) where none does.
  std::vector<HubModelId> expand(const HubModelId& id);

  /// In the cache, whole: what it lacks is downloaded. Without the hub, as it is there.
  HubModel fetch(const HubModelId& id);

  /// On the hub: its bytes are fetched when they are needed, and nothing is kept. A model that the
  /// cache holds is taken from there.
  HubModel open_remote(const HubModelId& id);

 private:
  HubModel find(const HubModelId& id, bool remote);
  HubModel fetch_new(const HubModelId& id);
  HubModel open_remote_new(const HubModelId& id);
  HubListing list(const HubModelId& id, int retries);

  HubContext context_;
  std::mutex mutex_;  // held while a model is looked for
  DownloadProgressFn on_progress_;
  std::shared_ptr<HubConnections> connections_;
  std::shared_ptr<Fetcher> fetcher_;
  std::map<std::string, std::vector<HubModelId>> expanded_;
  std::map<std::pair<std::string, bool>, HubModel> found_;  // by text, and whether remote
};

}  // namespace attnscope
