// Models by their hub names: from the cache, downloaded into the cache, or read remotely.
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

/// The location of a model's files.
struct HubModel {
  CheckpointFolder folder;
  std::string weights;  // a file of the folder, or an index
};

/// One instance per command, so that a name always means the same model. Thread-safe. All functions
/// throw HubError and Stopped, and Error(io, format, usage, unsupported) for models that cannot be
/// opened.
class Hub {
 public:
  explicit Hub(HubContext context, DownloadProgressFn on_progress = {});
  ~Hub();

  /// If the revision is a pattern, returns an id for each branch and tag that matches, in natural
  /// order. Offline, only cached revisions are considered. Throws Error(usage) if none matches.
  std::vector<HubModelId> expand(const HubModelId& id);

  /// Returns the model in the cache and downloads missing files. If the hub cannot be reached,
  /// returns the cached copy as it is.
  HubModel fetch(const HubModelId& id);

  /// Returns the model on the hub: bytes are fetched when needed and not kept on disk. A model that
  /// is in the cache is read from there.
  HubModel open_remote(const HubModelId& id);

 private:
  HubModel find(const HubModelId& id, bool remote);
  HubModel fetch_new(const HubModelId& id);
  HubModel open_remote_new(const HubModelId& id);
  HubListing list(const HubModelId& id, int retries);

  HubContext context_;
  std::mutex mutex_;  // locked while a model is looked up
  DownloadProgressFn on_progress_;
  std::shared_ptr<HubConnections> connections_;
  std::shared_ptr<Fetcher> fetcher_;
  std::map<std::string, std::vector<HubModelId>> expanded_;
  std::map<std::pair<std::string, bool>, HubModel> found_;  // by model id, and whether it is remote
};

}  // namespace attnscope
