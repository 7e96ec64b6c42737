#include "attnscope/hub/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include "attnscope/base/error.h"
#include "attnscope/hub/model_id.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of models from the "
    "Hugging Face hub.\n# The first line is explained at https://bford.info/cachedir/\n";

[[noreturn]] void fail(const fs::path& path, const std::string& problem, const std::string& why) {
  throw Error(ErrorKind::io, {.file = path.string(),
                              .problem = problem + ": " + verbatim(why),
                              .hint = "set HF_HOME or HF_HUB_CACHE to use another cache folder"});
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(path, "cannot create this folder", error.message());
}

std::string file_text(const fs::path& path) {
  constexpr std::streamsize kMaxBytes = 1000;
  std::string text(kMaxBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), kMaxBytes);
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// Writes atomically, so that readers see either the old text or the new one.
void write_text(const fs::path& path, std::string_view text) {
  make_folder(path.parent_path());
  const fs::path other = path.string() + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream file(other, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file) fs::rename(other, path, error);
  if (!file || error) {
    const std::string why = error ? error.message() : std::strerror(errno);
    fs::remove(other, error);
    fail(path, "cannot write", why);
  }
}

std::string folder_name(const std::string& repo) {
  std::string name = "models--";
  for (const char letter : repo) name += letter == '/' ? std::string("--") : std::string(1, letter);
  return name;
}

}  // namespace

HubCache::HubCache(const HubSettings& settings, const std::string& repo)
    : root_(settings.cache),
      name_(folder_name(repo)),
      folder_(root_ / name_),
      links_(settings.links) {}

fs::path HubCache::snapshot(const std::string& commit) const {
  return folder_ / "snapshots" / commit;
}

fs::path HubCache::blob(const std::string& etag) const { return folder_ / "blobs" / etag; }

fs::path HubCache::lock_file(const std::string& etag) const {
  return root_ / ".locks" / name_ / (etag + ".lock");
}

bool HubCache::has(const std::string& commit, const std::string& path) const {
  std::error_code ignored;
  return fs::exists(snapshot(commit) / path, ignored);  // false for a link whose blob is missing
}

std::optional<std::string> HubCache::commit_of(const std::string& revision) const {
  std::error_code ignored;
  const fs::path ref = folder_ / "refs" / revision;
  std::string commit = fs::is_regular_file(ref, ignored) ? file_text(ref) : revision;
  // huggingface_hub writes no line break at the end, but a user might.
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r')) commit.pop_back();
  // In a cache that was created by hand, snapshots may have any name.
  if (commit.find('/') != commit.npos || !is_safe_file_name(commit)) return std::nullopt;
  if (!fs::is_directory(snapshot(commit), ignored)) return std::nullopt;
  return commit;
}

std::vector<std::string> HubCache::revisions() const {
  const fs::path refs = folder_ / "refs";
  std::vector<std::string> names;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(refs, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    std::string name = entry->path().lexically_relative(refs).string();
    if (commit_of(name)) names.push_back(std::move(name));
  }
  return names;
}

void HubCache::prepare(const std::string& commit) const {
  make_folder(folder_ / "blobs");
  make_folder(snapshot(commit));
  std::error_code ignored;
  const fs::path tag = root_ / "CACHEDIR.TAG";
  if (!fs::exists(tag, ignored)) write_text(tag, kTag);
}

void HubCache::write_ref(const std::string& revision, const std::string& commit) const {
  const fs::path ref = folder_ / "refs" / revision;
  if (revision != commit && file_text(ref) != commit) write_text(ref, commit);
}

void HubCache::write_absent(const std::string& commit, const std::string& path) const {
  const fs::path mark = folder_ / ".no_exist" / commit / path;
  std::error_code ignored;
  if (!fs::exists(mark, ignored)) write_text(mark, "");
}

void HubCache::place(const std::string& commit, const std::string& path, const std::string& etag,
                     bool is_new) const {
  const fs::path file = snapshot(commit) / path;
  make_folder(file.parent_path());
  std::error_code error;
  fs::remove(file, error);  // a link whose blob is missing
  if (links_) {
    // A relative link, so that the cache can be moved. Another program may have created the same
    // link.
    fs::create_symlink(blob(etag).lexically_relative(file.parent_path()), file, error);
    if (!error || error == std::errc::file_exists) return;
  }
  if (is_new) {
    fs::rename(blob(etag), file, error);
  } else {
    fs::copy_file(blob(etag), file, fs::copy_options::overwrite_existing, error);
  }
  if (error) fail(file, "cannot place the file here", error.message());
}

FileLock::FileLock(const fs::path& path, std::stop_token stop) {
  make_folder(path.parent_path());
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0664);
  if (descriptor_ < 0) fail(path, "cannot create this lock file", std::strerror(errno));
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (stop.stop_requested()) {
      close(descriptor_);
      throw Stopped();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

FileLock::~FileLock() { close(descriptor_); }

}  // namespace attnscope
