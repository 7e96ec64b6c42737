// Models by their names on the hub: from the cache, downloaded into it, or read remotely.
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

/// One per command: while it exists, a name always means the same model. Threads may share it. All
/// functions throw HubError, Stopped; Error(io, format, usage, unsupported) for models that cannot
/// be opened.
class Hub {
 public:
  explicit Hub(HubContext context, DownloadProgressFn on_progress = {});
  ~Hub();

  /// If the revision is a pattern: an id for each branch and tag that matches, in natural order;
  /// offline, only those in the cache. Throws Error(usage) if none matches.
  std::vector<HubModelId> expand(const HubModelId& id);

  /// The model in the cache; missing files are downloaded. If the hub cannot be reached, the
  /// cache's copy as it is.
  HubModel fetch(const HubModelId& id);

  /// The model on the hub: bytes are fetched when they are needed and not kept on disk. A model
  /// that is in the cache is read from there.
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
