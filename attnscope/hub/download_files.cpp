// Several downloads at once.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "attnscope/hub/download.h"

namespace attnscope {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAtOnce = 4;
constexpr auto kBetweenReports = std::chrono::milliseconds(100);

void check_room(const HubCache& cache, const HubSubject& subject, std::span<const HubFile> files) {
  std::error_code error;
  std::uint64_t bytes = 0;
  for (const HubFile& file : files) {
    const bool is_there =
        !file.etag.empty() && std::filesystem::exists(cache.blob(file.etag), error);
    if (!is_there) bytes += file.size.value_or(0);
  }
  const auto room = std::filesystem::space(cache.folder(), error);
  if (error || room.available >= bytes) return;
  const auto megabytes = [](std::uint64_t count) {
    return std::to_string(count / 1'000'000) + " MB";
  };
  throw Error(ErrorKind::io, {.file = cache.folder().string(),
                              .problem = "has room for " + megabytes(room.available) + ", and " +
                                         verbatim(subject.model) + " needs " + megabytes(bytes),
                              .hint = "name another folder in HF_HOME, or read without keeping: "
                                      "{remote}"});
}

/// The files that are left, for threads that take one after the other.
class Downloads {
 public:
  Downloads(const HubContext& context, const HubSubject& subject, const HubCache& cache,
            const std::string& commit, std::span<const HubFile> files)
      : context_(context), subject_(subject), cache_(cache), commit_(commit), files_(files) {
    progress_.model = subject.model;
    progress_.files_total = files.size();
    for (const HubFile& file : files) progress_.bytes_total += file.size.value_or(0);
    check_room(cache, subject, files);
  }

  void run(const DownloadProgressFn& on_progress) {
    // A stop of the command, and a failure, end all of them.
    const std::stop_callback on_stop(context_.stop, [this] { stop_.request_stop(); });
    {
      std::vector<std::jthread> threads;
      const std::size_t count = std::min(kAtOnce, files_.size());
      for (std::size_t index = 0; index < count; ++index) threads.emplace_back([this] { work(); });
      try {
        report(on_progress, count);
      } catch (...) {
        fail(std::current_exception());
      }
    }  // joined
    if (context_.stop.stop_requested()) throw Stopped();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void fail(std::exception_ptr failure) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    stop_.request_stop();
  }

  void work() {
    HubContext context = context_;
    context.stop = stop_.get_token();
    try {
      HubClient client(context, subject_);
      for (;;) {
        std::size_t next = 0;
        {
          const std::scoped_lock lock(mutex_);
          if (next_ == files_.size() || stop_.stop_requested()) break;
          next = next_++;
        }
        download_file(client, cache_, commit_, files_[next], context.stop, count_);
        const std::scoped_lock lock(mutex_);
        ++progress_.files_done;
      }
    } catch (...) {
      fail(std::current_exception());
    }
    const std::scoped_lock lock(mutex_);
    ++threads_done_;
    ended_.notify_all();
  }

  void report(const DownloadProgressFn& on_progress, std::size_t threads) {
    std::unique_lock lock(mutex_);
    while (threads_done_ < threads) {
      ended_.wait_for(lock, kBetweenReports);
      if (!on_progress) continue;
      DownloadProgress progress = progress_;
      progress.bytes_done = count_.done;
      progress.bytes_come = count_.come;
      progress.bytes_total = std::max(progress.bytes_total, progress.bytes_done);
      progress.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
      lock.unlock();
      on_progress(progress);
      lock.lock();
    }
  }

  const HubContext& context_;
  const HubSubject& subject_;
  const HubCache& cache_;
  const std::string& commit_;
  const std::span<const HubFile> files_;
  const Clock::time_point start_ = Clock::now();
  std::stop_source stop_;
  ByteCount count_;

  std::mutex mutex_;  // guards all below
  std::condition_variable ended_;
  std::size_t next_ = 0;
  std::size_t threads_done_ = 0;
  DownloadProgress progress_;
  std::exception_ptr failure_;
};

}  // namespace

void download_files(const HubContext& context, const HubSubject& subject, const HubCache& cache,
                    const std::string& commit, std::span<const HubFile> files,
                    const DownloadProgressFn& on_progress) {
  if (!files.empty()) Downloads(context, subject, cache, commit, files).run(on_progress);
}

}  // namespace attnscope
