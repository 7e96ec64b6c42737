#include "attnscope/features/framework/run_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attnscope/base/error.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/checkpoint/weight_files.h"
#include "attnscope/features/framework/file_extensions.h"

namespace attnscope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_output(const std::string& parameter, const fs::path& path,
                                const std::string& problem) {
  if (parameter.empty()) {
    throw Error(ErrorKind::usage, "stdout", problem + "; redirect to another file");
  }
  throw Error(ErrorKind::usage, {.parameter = parameter,
                                 .problem = "'" + verbatim(path.string()) + "' " + problem +
                                            "; choose another file"});
}

std::string named_by(const std::string& parameter) {
  if (parameter.empty()) return "the file that stdout is redirected to";
  return "the file passed to {" + parameter + "}";
}

/// Adds a store and the files that SQLite may create next to it.
void add_store(RunFiles& files, const std::string& parameter, const std::string& path) {
  for (const char* ending : {"", "-wal", "-shm", "-journal"}) {
    files.add_output(parameter, path + ending);
  }
}

/// Adds a folder of charts, and the charts of an earlier run, which are replaced.
void add_folder(RunFiles& files, const Parameter& parameter, const std::string& path) {
  files.add_output(parameter.name, path);
  std::error_code failed;
  for (fs::directory_iterator entry(path, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    const bool replaced =
        std::any_of(parameter.endings.begin(), parameter.endings.end(),
                    [&](const std::string& ending) { return name.ends_with(ending); });
    if (replaced) files.add_output(parameter.name, entry->path());
  }
}

/// Whether the output needs a folder where there is a file.
bool lies_under(const std::vector<FileIdentity>& parent_folders, const FileIdentity& file) {
  return file.file && std::any_of(parent_folders.begin() + 1, parent_folders.end(),
                                  [&](const FileIdentity& one) { return one.file == file.file; });
}

}  // namespace

void RunFiles::check(const Output& output) const {
  const auto is_parent_folder = [&](const Input& input) {
    return std::any_of(
        output.parent_folders.begin(), output.parent_folders.end(),
        [&](const FileIdentity& identity) { return is_same_file(identity, input.identity); });
  };
  for (const auto& [path, input] : inputs_) {
    if (is_parent_folder(input)) refuse_output(output.parameter, output.path, "is " + input.what);
  }
  std::error_code ignored;
  for (const FileIdentity& above : std::span(output.parent_folders).subspan(1)) {
    for (const fs::path& folder : named_folders_) {
      if (!above.file || !fs::equivalent(fs::path(above.path).parent_path(), folder, ignored))
        continue;
      refuse_output(output.parameter, output.path, "uses a file next to a model as a folder");
    }
  }
  const FileIdentity& file = output.parent_folders.front();
  if (file.exists) return;
  const fs::path path = file.path;
  for (const auto& [folder, model] : model_folders_) {
    if (!fs::equivalent(path.parent_path(), folder, ignored)) continue;
    if (!changes_weights(folder, path.filename().string())) continue;
    refuse_output(output.parameter, output.path,
                  "would be read as weights of the model '" + verbatim(model) + "'");
  }
}

void RunFiles::check_output(const std::string& parameter, const fs::path& path) const {
  const std::scoped_lock lock(mutex_);
  check({parameter, path, parent_identities(path)});
}

void RunFiles::add(const fs::path& path, const std::string& what) {
  inputs_.emplace(path, Input{identity_of(path), what});
}

void RunFiles::add_input(const std::string& parameter, const fs::path& path) {
  const std::scoped_lock lock(mutex_);
  add(path, named_by(parameter));
  for (const Output& output : outputs_) check(output);
}

void RunFiles::add_output(const std::string& parameter, const fs::path& path) {
  const std::scoped_lock lock(mutex_);
  Output output{parameter, path, parent_identities(path)};
  const FileIdentity& file = output.parent_folders.front();
  for (const Output& other : outputs_) {
    const FileIdentity& written = other.parent_folders.front();
    const bool is_same = is_same_file(file, written) || file.path == written.path ||
                         lies_under(output.parent_folders, written) ||
                         lies_under(other.parent_folders, file);
    if (is_same && other.parameter != parameter)
      refuse_output(parameter, path, "is " + named_by(other.parameter));
  }
  check(output);
  outputs_.push_back(std::move(output));
}

void RunFiles::add_model_name(const fs::path& path) {
  const std::scoped_lock lock(mutex_);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  const bool is_folder = fs::is_directory(path, ignored);
  named_folders_.push_back(is_folder ? path : fs::absolute(path, ignored).parent_path());
  for (const Output& output : outputs_) check(output);
}

void RunFiles::add_model(const Checkpoint& checkpoint, const std::string& name,
                         bool found_in_folder) {
  const std::scoped_lock lock(mutex_);
  const CheckpointFolder& folder = checkpoint.folder();
  // The commands of a report open the same models repeatedly.
  const std::size_t known = inputs_.size() + model_folders_.size();
  for (const fs::path& path : paths_of(checkpoint)) {
    add(path, "a file of the model '" + verbatim(name) + "'");
  }
  if (found_in_folder && !folder.is_remote()) model_folders_.emplace(folder.path(), name);
  if (inputs_.size() + model_folders_.size() == known) return;
  for (const Output& output : outputs_) check(output);
}

std::string RunFiles::read_text(const fs::path& path, std::uint64_t limit_bytes) {
  const std::scoped_lock lock(mutex_);
  const auto kept = kept_.find(path);
  if (kept != kept_.end()) return kept->second;
  if (!is_pipe(path)) return read_text_file(path, limit_bytes);
  std::string text = without_byte_order_mark(read_pipe(path, limit_bytes), {.file = path.string()});
  return kept_.emplace(path, std::move(text)).first->second;
}

void RunFiles::keep_text(const fs::path& path, std::string text) {
  const std::scoped_lock lock(mutex_);
  kept_.insert_or_assign(path, std::move(text));
}

std::shared_ptr<RunFiles> files_of(std::span<const Parameter> parameters,
                                   const Arguments& arguments) {
  auto files = std::make_shared<RunFiles>();
  for (const std::string& model : arguments.texts("models")) files->add_model_name(model);
  for (const Parameter& parameter : parameters) {
    if (parameter.type != ParameterType::file || !arguments.given(parameter.name)) continue;
    const std::string path = arguments.text(parameter.name);
    switch (parameter.use) {
      case FileUse::read: files->add_input(parameter.name, path); break;
      case FileUse::folder: add_folder(*files, parameter, path); break;
      case FileUse::written:
        check_ending(parameter, path);
        files->add_output(parameter.name, path);
        break;
      case FileUse::store:
        check_ending(parameter, path);
        add_store(*files, parameter.name, path);
        break;
    }
  }
  return files;
}

namespace fs = std::filesystem;

namespace {

/// The identity of a path without links.
FileIdentity identity_of_canonical(std::string path) {
  FileIdentity identity{.path = std::move(path)};
  struct stat status = {};
  identity.exists = stat(identity.path.c_str(), &status) == 0;
  if (identity.exists && S_ISREG(status.st_mode)) identity.file = {status.st_dev, status.st_ino};
  return identity;
}

}  // namespace

FileIdentity identity_of(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  const fs::path canonical = fs::weakly_canonical(whole, failed);
  FileIdentity identity = identity_of_canonical(path.string());
  identity.path = (failed ? whole : canonical).string();
  return identity;
}

bool is_same_file(const FileIdentity& one, const FileIdentity& other) {
  if (one.exists || other.exists) return one.file && one.file == other.file;
  return one.path == other.path;
}

std::vector<FileIdentity> parent_identities(const fs::path& path) {
  if (path.native().size() >= PATH_MAX) {
    throw Error(ErrorKind::io,
                {.file = path.string(),
                 .problem = "path has " + std::to_string(path.native().size()) +
                            " bytes, expected fewer than " + std::to_string(PATH_MAX)});
  }
  std::vector<FileIdentity> identities = {identity_of(path)};
  for (;;) {
    const std::string& below = identities.back().path;
    const std::size_t end = below.rfind('/');
    if (below.size() < 2 || end == std::string::npos) return identities;
    identities.push_back(identity_of_canonical(below.substr(0, std::max<std::size_t>(end, 1))));
  }
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, ErrorKind kind, const std::string& problem) {
  throw Error(kind, {.file = path.string(), .problem = problem});
}

/// Closes the descriptor at the end of its scope.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

bool is_null_device(const struct stat& opened) {
  struct stat null;
  return stat("/dev/null", &null) == 0 && null.st_rdev == opened.st_rdev;
}

}  // namespace

bool is_pipe(const fs::path& path) {
  std::error_code ignored;
  return fs::is_fifo(path, ignored) || fs::is_character_file(path, ignored);
}

std::string read_pipe(const fs::path& path, std::uint64_t limit_bytes) {
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0)
    fail(path, ErrorKind::io, std::string("cannot open: ") + std::strerror(errno));
  struct stat status;
  const bool device = fstat(file.number, &status) == 0 && S_ISCHR(status.st_mode);
  if (device && isatty(file.number) == 0 && !is_null_device(status)) {
    fail(path, ErrorKind::io, "is a device, expected a file or a pipe");
  }
  std::string text;
  std::array<char, 1 << 16> part;
  for (;;) {
    const ssize_t count = read(file.number, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, ErrorKind::io, std::string("cannot read: ") + std::strerror(errno));
    if (count == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
    if (text.size() > limit_bytes) {
      fail(path, ErrorKind::format, "is larger than " + std::to_string(limit_bytes) + " bytes");
    }
  }
}

}  // namespace attnscope
