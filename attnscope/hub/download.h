// Downloads files from the hub into the cache. A download resumes where it stopped. It is accepted
// only if size and checksum are right.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "attnscope/hub/cache.h"
#include "attnscope/hub/hub_client.h"

namespace attnscope {

/// Progress of the downloads of one model.
struct DownloadProgress {
  std::string model;
  std::size_t files_done = 0, files_total = 0;
  std::uint64_t bytes_done = 0, bytes_total = 0;  // including bytes from earlier runs
  std::uint64_t bytes_come = 0;                   // received during `seconds`
  double seconds = 0;
};

/// Totals over all downloads of one model.
struct ByteCount {
  std::atomic<std::uint64_t> done = 0;  // including bytes from earlier runs
  std::atomic<std::uint64_t> come = 0;
};

using DownloadProgressFn = std::function<void(const DownloadProgress&)>;

/// Downloads the file unless its blob exists, and links it into the snapshot of the commit. Adds
/// the bytes that were found or received to `count`. Throws HubError, Stopped, Error(io), and
/// Error(format) if size or checksum differ from the hub's.
void download_file(HubClient& client, const HubCache& cache, const std::string& commit,
                   const HubFile& file, std::stop_token stop, ByteCount& count);

/// Downloads all files, several at a time. Calls `on_progress` ten times per second on this thread.
/// The first failure stops the other downloads.
void download_files(const HubContext& context, const HubSubject& subject, const HubCache& cache,
                    const std::string& commit, std::span<const HubFile> files,
                    const DownloadProgressFn& on_progress);

}  // namespace attnscope
