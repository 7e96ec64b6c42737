#include "attnscope/hub/download.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attnscope/base/text.h"
#include "attnscope/hub/checksum.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

/// An incomplete download. Its file name is that of huggingface_hub before 1.20; later versions
/// ignore such files.
class PartialFile {
 public:
  PartialFile(fs::path path, const HubFileFacts& facts, const HubSubject& subject, ByteCount& count)
      : path_(std::move(path)), facts_(facts), subject_(subject), total_(count) {
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("cannot write");
    checksum_ = std::make_unique<EtagChecksum>(facts_.etag, facts_.size);
    take_up();
  }
  ~PartialFile() { close(descriptor_); }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  std::uint64_t bytes() const { return bytes_; }
  /// Whether it contains bytes of an earlier run.
  bool was_taken_up() const { return taken_up_; }
  bool is_whole() const { return facts_.size && bytes_ == *facts_.size; }

  void add(std::span<const std::byte> part) {
    if (facts_.size && part.size() > *facts_.size - bytes_) {
      throw Error(ErrorKind::format,
                  {.file = subject_.model + ": " + subject_.file,
                   .problem = "the server sent more than the " + std::to_string(*facts_.size) +
                              " bytes that the hub reports"});
    }
    for (std::span<const std::byte> left = part; !left.empty();) {
      const ssize_t written = write(descriptor_, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail("cannot write");
      left = left.subspan(static_cast<std::size_t>(written));
    }
    total_.come += part.size();
    count(part);
  }

  void restart() {
    if (ftruncate(descriptor_, 0) != 0 || lseek(descriptor_, 0, SEEK_SET) != 0) {
      fail("cannot write");
    }
    total_.done -= bytes_;
    bytes_ = 0;
    taken_up_ = false;
    checksum_ = std::make_unique<EtagChecksum>(facts_.etag, facts_.size);
  }

  /// Returns what is wrong with the complete file, or nothing.
  std::optional<std::string> problem() {
    if (facts_.size && bytes_ != *facts_.size) {
      return "it has " + counted(bytes_, "byte") + ", expected " + std::to_string(*facts_.size) +
             " (reported by the hub)";
    }
    return checksum_->problem();
  }

  void move_to(const fs::path& place) {
    std::error_code error;
    fs::rename(path_, place, error);
    if (error) fail("cannot rename");
  }

  void remove() { unlink(path_.c_str()); }

 private:
  [[noreturn]] void fail(const char* problem) const {
    throw Error(ErrorKind::io, path_.string(), std::string(problem) + ": " + std::strerror(errno));
  }

  void count(std::span<const std::byte> part) {
    checksum_->add(part);
    bytes_ += part.size();
    total_.done += part.size();
  }

  /// Resumes at the end of the bytes from an earlier run.
  void take_up() {
    struct stat status;
    if (fstat(descriptor_, &status) != 0) fail("cannot read");
    const auto there = static_cast<std::uint64_t>(status.st_size);
    if (!facts_.size || there > *facts_.size) return restart();
    constexpr std::size_t kAtOnce = 1 << 20;
    std::vector<std::byte> buffer(std::min<std::size_t>(kAtOnce, there));
    while (bytes_ < there) {
      const ssize_t count_read = read(descriptor_, buffer.data(), buffer.size());
      if (count_read < 0 && errno == EINTR) continue;
      if (count_read <= 0) fail("cannot read");
      count(std::span(buffer).first(static_cast<std::size_t>(count_read)));
    }
    taken_up_ = there > 0;
  }

  fs::path path_;
  const HubFileFacts& facts_;
  const HubSubject& subject_;
  ByteCount& total_;
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
  bool taken_up_ = false;
  std::unique_ptr<EtagChecksum> checksum_;
};

/// Whether a response begins at that byte of a file of that size: "bytes 100-199/200".
bool begins_at(std::string_view content_range, std::uint64_t first,
               std::optional<std::uint64_t> size) {
  const std::string start = "bytes " + std::to_string(first) + "-";
  if (!content_range.starts_with(start)) return false;
  const std::size_t slash = content_range.find('/');
  if (slash == content_range.npos || !size) return slash != content_range.npos;
  const std::string_view total = content_range.substr(slash + 1);
  return total == "*" || total == std::to_string(*size);
}

/// One GET request that starts at the end of the partial file.
void get_rest(HubClient& client, const std::string& url, PartialFile& part,
              const HubFileFacts& facts) {
  WebRequest request{.url = url};
  const std::uint64_t first = part.bytes();
  if (first > 0) request.first_byte = first;
  bool is_packed = false;
  const WebReader reader{
      .on_header =
          [&](const WebResponse& response) {
            const bool goes_on = response.status == 206 &&
                                 begins_at(response.header("content-range"), first, facts.size);
            if (first > 0 && response.status == 206 && !goes_on) {
              throw ConnectionError("the server sent a different byte range from the one requested",
                                    true);
            }
            // A server without range requests sends the whole file.
            if (first > 0 && response.status != 206) part.restart();
            const std::string_view coding = response.header("content-encoding");
            is_packed = !coding.empty() && coding != "identity";
          },
      .on_body = [&](std::span<const std::byte> bytes) { part.add(bytes); }};
  try {
    client.get(request, reader);
  } catch (const HubError&) {
    // Byte ranges of a compressed response are not byte ranges of the file.
    if (is_packed) part.restart();
    throw;
  }
}

/// Repeats requests until the file is complete. The count of retries restarts whenever bytes
/// arrive.
void get_all(HubClient& client, const std::string& commit, const HubFile& file, PartialFile& part,
             const HubFileFacts& facts) {
  std::string url = facts.location;
  for (int tries = 0; !part.is_whole();) {
    const std::uint64_t before = part.bytes();
    try {
      get_rest(client, url, part, facts);
      if (!facts.size || part.is_whole()) return;
      throw HubError(HubFault::unreachable,
                     {.file = client.subject().model + ": " + file.path,
                      .problem = "the response ended early"},
                     /*is_temporary=*/true);
    } catch (const HubError& error) {
      // Addresses on other hosts expire after some minutes. Ask the hub for a new one.
      const std::string own = client.address_of(commit, file.path);
      const bool has_another = url != own && error.fault() != HubFault::unreachable;
      url = own;
      if (part.bytes() > before) tries = 0;
      if (!has_another && (!error.is_temporary() || tries >= HubClient::kRetries)) throw;
      if (!has_another) client.wait_after(error, tries);
      ++tries;
    }
  }
}

}  // namespace

void download_file(HubClient& client, const HubCache& cache, const std::string& commit,
                   const HubFile& file, std::stop_token stop, ByteCount& count) {
  client.set_file(file.path);
  const HubFileFacts facts = client.facts(commit, file.path);
  const fs::path blob = cache.blob(facts.etag);
  const FileLock lock(cache.lock_file(facts.etag), std::move(stop));
  std::error_code ignored;
  const bool is_there =
      fs::exists(blob, ignored) && (!facts.size || fs::file_size(blob, ignored) == *facts.size);
  if (is_there) {
    count.done += facts.size.value_or(0);
    return cache.place(commit, file.path, facts.etag, /*is_new=*/false);
  }
  PartialFile part(blob.string() + ".incomplete", facts, client.subject(), count);
  for (;;) {
    get_all(client, commit, file, part, facts);
    const bool may_be_stale = part.was_taken_up();
    const auto problem = part.problem();
    if (!problem) break;
    part.restart();
    if (may_be_stale) continue;  // the bytes of an earlier run may be wrong
    part.remove();
    throw Error(ErrorKind::format,
                {.file = client.subject().model + ": " + file.path,
                 .problem = "the download does not match the hub's file: " + *problem,
                 .hint = "the download was deleted; try again"});
  }
  part.move_to(blob);
  cache.place(commit, file.path, facts.etag, /*is_new=*/true);
}

// Runs several downloads at once.
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
  throw Error(
      ErrorKind::io,
      {.file = cache.folder().string(),
       .problem = "has only " + megabytes(room.available) + " free, but " +
                  verbatim(subject.model) + " needs " + megabytes(bytes),
       .hint = "set HF_HOME to a folder on another disk, or read without caching: {remote}"});
}

/// The queue of remaining files, from which the threads take one at a time.
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
    // A stop of the command or a failure ends all downloads.
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
    }  // the threads are joined on destruction
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

  std::mutex mutex_;  // guards all members below
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
