#include "attnscope/rewrite/new_folder.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "attnscope/core/error.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

std::string reason_of(int error) {
  return "cannot write: " + std::string(std::strerror(error == 0 ? EIO : error));
}

/// The path without a slash at its end.
fs::path trimmed(const fs::path& path) { return path.has_filename() ? path : path.parent_path(); }

}  // namespace

void fail_writing(const fs::path& path, const std::string& problem) {
  throw Error(ErrorKind::io, {.file = path.string(), .problem = problem});
}

fs::path hidden_beside(const fs::path& path, const std::string& ending) {
  const fs::path own = trimmed(path);
  const fs::path parent = own.has_parent_path() ? own.parent_path() : fs::path(".");
  return parent / ("." + own.filename().string() + "." + ending);
}

void write_new_file(const fs::path& path, const fs::path& called,
                    const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) fail_writing(called, reason_of(errno));
  write(out);
  out.close();
  if (!out) fail_writing(called, reason_of(errno));
}

NewFolder::NewFolder(fs::path path) : path_(trimmed(path)) {
  std::error_code failed;
  const fs::file_status status = fs::status(path_, failed);
  if (fs::exists(status) && !fs::is_directory(status)) fail_writing(path_, "is a file");
  if (fs::is_directory(status) && !fs::is_empty(path_, failed)) {
    fail_writing(path_, "exists and is not empty; nothing was written");
  }
  temporary_ = hidden_beside(path_, "attnscope-tmp");
  fs::remove_all(temporary_, failed);
  if (!fs::create_directory(temporary_, failed)) {
    const fs::path wanted = std::exchange(temporary_, fs::path());
    fail_writing(path_, "cannot make the folder " + verbatim(wanted.string()) + ": " +
                            (failed ? failed.message() : "it is there"));
  }
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void NewFolder::write(const std::string& name,
                      const std::function<void(std::ostream&)>& write) const {
  write_new_file(temporary_ / name, path_ / name, write);
}

void NewFolder::write(const std::string& name, std::string_view content) const {
  write(name, [&](std::ostream& out) {
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
  });
}

void NewFolder::commit() {
  std::error_code failed;
  fs::rename(temporary_, path_, failed);  // replaces an empty folder
  if (failed) fail_writing(path_, "cannot give the folder its name: " + failed.message());
  temporary_.clear();
}

}  // namespace attnscope
