// The bytes of a remote file, fetched when they are needed.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace attnscope {

/// A source of a remote file's bytes.
class RangeSource {
 public:
  virtual ~RangeSource() = default;
  /// Fills `out` with the file's bytes that start at `offset`. Thread-safe. Throws Error(io) if
  /// they cannot be fetched, and Stopped.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) = 0;
};

/// Runs tasks in the background. At most two large reads run at a time, because more would not
/// speed up a connection. Small reads mostly wait for the server, so they run concurrently.
class Fetcher {
 public:
  static constexpr int kAtOnce = 8, kLargeAtOnce = 2;
  // reads of at least this size are large
  static constexpr std::uint64_t kLargeBytes = std::uint64_t{1} << 20;

  Fetcher();
  ~Fetcher();  // drops tasks that have not started
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  void run(std::function<void()> task);

  /// Locked during every large read, in the background or not.
  std::counting_semaphore<kLargeAtOnce>& connections() { return connections_; }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::counting_semaphore<kLargeAtOnce> connections_{kLargeAtOnce};
  std::vector<std::thread> threads_;  // declared last, because the threads use the other members
};

/// A file that is read over the network.
struct RemoteFile {
  std::string name;            // name in its folder
  std::filesystem::path path;  // name in messages; equal only for equal contents
  std::uint64_t bytes = 0;
  std::shared_ptr<RangeSource> source;
  std::shared_ptr<Fetcher> fetcher;  // shared by all files of a checkpoint
};

/// The fetched parts of a remote file. The memory has the size of the file and is initially empty.
class RemoteBytes {
 public:
  /// `memory` must outlive the object.
  RemoteBytes(std::span<std::byte> memory, RemoteFile file);
  ~RemoteBytes();  // waits for fetches in progress
  RemoteBytes(const RemoteBytes&) = delete;
  RemoteBytes& operator=(const RemoteBytes&) = delete;

  /// Waits until bytes [begin, end) are available. Every byte is fetched once, unless forget()
  /// dropped it. Passes on errors of the source.
  void need(std::uint64_t begin, std::uint64_t end);

  /// Starts to fetch the bytes. An error is reported when they are needed.
  void prefetch(std::uint64_t begin, std::uint64_t end);

  /// Hints that the bytes will not be read soon, so that their memory can be freed.
  void forget(std::uint64_t begin, std::uint64_t end);

 private:
  struct Stretch {
    std::uint64_t end = 0;
    bool there = false;  // false: another thread is fetching it
  };
  using Stretches = std::map<std::uint64_t, Stretch>;  // sorted by begin, without overlaps

  /// Returns the range that contains that byte, or end().
  Stretches::iterator at(std::uint64_t byte);
  void fetch(std::unique_lock<std::mutex>& lock, std::uint64_t begin, std::uint64_t end);

  std::span<std::byte> memory_;
  RemoteFile file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Stretches stretches_;
  int tasks_ = 0;  // tasks in the fetcher
  bool ending_ = false;
};

}  // namespace attnscope
