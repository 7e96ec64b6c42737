#include "attnscope/hub/hub.h"

#include <algorithm>
#include <mutex>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/weight_files.h"
#include "attnscope/hub/cache.h"
#include "attnscope/hub/http_connection.h"
#include "attnscope/hub/range_source.h"

namespace attnscope {
namespace {

constexpr std::size_t kShownRevisions = 8;

HubSubject subject_of(const HubModelId& id) {
  return {.model = id.text(), .repo = id.repo, .revision = id.revision, .file = ""};
}

/// The files of a repository that are needed to open a model. Names are relative to `folder`.
struct ModelFiles {
  std::string folder;               // inside the repository: "" or "sub/folder/"
  std::string weights;              // a file, or an index
  std::vector<std::string> needed;  // including the configuration and the tokenizer
  std::vector<std::string> absent;  // files that the repository does not contain
};

/// All weight files, except the shards that an index lists.
std::vector<std::string> parts_of(const std::string& weights) {
  for (const FileFormat& format : file_formats()) {
    const bool fits =
        std::any_of(format.endings.begin(), format.endings.end(),
                    [&](std::string_view ending) { return weights.ends_with(ending); });
    if (!fits || format.parts == nullptr) continue;
    std::vector<std::string> parts;
    for (const auto& part : format.parts(weights)) parts.push_back(part.string());
    return parts;
  }
  return {weights};
}

/// Selects files from the repository's list, by the same rules as for a local folder. Shards that
/// an index lists are not included: see shards_of(). Throws the errors of find_weights(), and
/// Error(io) if the part that `id` names does not exist.
ModelFiles model_files(const HubModelId& id, std::span<const HubFile> files) {
  ModelFiles out;
  const bool is_file = std::any_of(files.begin(), files.end(),
                                   [&](const HubFile& file) { return file.path == id.part; });
  if (is_file) {
    const std::size_t slash = id.part.rfind('/');
    out.folder = slash == id.part.npos ? "" : id.part.substr(0, slash + 1);
    out.weights = id.part.substr(out.folder.size());
  } else if (!id.part.empty()) {
    out.folder = id.part + "/";
  }
  std::vector<RemoteFile> names;
  for (const HubFile& file : files) {
    if (!file.path.starts_with(out.folder)) continue;
    std::string name = file.path.substr(out.folder.size());
    if (name.find('/') == name.npos) names.push_back({.name = std::move(name)});
  }
  if (names.empty() && !id.part.empty()) {
    throw Error(ErrorKind::io, id.text(), "the repository has no such file or folder");
  }
  const CheckpointFolder folder(id.text(), std::move(names));
  if (out.weights.empty()) out.weights = find_weights(folder);
  for (const std::string_view companion : companion_files()) {
    std::string name(companion);
    (folder.has(name) ? out.needed : out.absent).push_back(std::move(name));
  }
  if (is_index(out.weights)) {
    out.needed.push_back(out.weights);
    return out;
  }
  for (std::string& part : parts_of(out.weights)) out.needed.push_back(std::move(part));
  for (std::string& part : later_parts(folder, out.weights)) out.needed.push_back(std::move(part));
  return out;
}

/// Returns the cached model of a commit if the cache contains all files that are needed.
std::optional<HubModel> whole_model(const HubCache& cache, const HubModelId& id,
                                    const std::string& commit) {
  std::vector<HubFile> files;
  const std::filesystem::path snapshot = cache.snapshot(commit);
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(snapshot, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code ignored;  // a link whose blob is missing does not count
    if (!entry->is_regular_file(ignored)) continue;
    files.push_back({.path = entry->path().lexically_relative(snapshot).string()});
  }
  try {
    const ModelFiles wanted = model_files(id, files);
    HubModel model{.folder = snapshot / wanted.folder, .weights = wanted.weights};
    for (const std::string& shard : shards_of(model.folder, model.weights)) {
      if (!model.folder.has(shard)) return std::nullopt;
    }
    for (const std::string& part : wanted.needed) {
      if (!model.folder.has(part)) return std::nullopt;
    }
    return model;
  } catch (const Error&) {  // no weights in the cache, or an unreadable index
    return std::nullopt;
  }
}

[[noreturn]] void refuse_offline(const HubModelId& id, const HubSettings& settings) {
  throw Error(ErrorKind::io,
              {.file = id.text(),
               .problem = "no such local file or folder, and not complete in the cache " +
                          verbatim(settings.cache.string()),
               .hint = "unset HF_HUB_OFFLINE to download it"});
}

/// Returns the needed files that the cache does not contain.
std::vector<HubFile> missing_files(const HubCache& cache, const HubListing& listing,
                                   const std::string& folder,
                                   const std::vector<std::string>& wanted) {
  std::vector<HubFile> missing;
  for (const HubFile& file : listing.files) {
    const bool is_wanted =
        file.path.starts_with(folder) &&
        std::find(wanted.begin(), wanted.end(), file.path.substr(folder.size())) != wanted.end();
    if (is_wanted && !cache.has(listing.commit, file.path)) missing.push_back(file);
  }
  return missing;
}

HubContext with_one_note_at_a_time(HubContext context) {
  if (!context.on_note) return context;
  context.on_note = [mutex = std::make_shared<std::mutex>(),
                     say = std::move(context.on_note)](const std::string& note) {
    const std::scoped_lock lock(*mutex);
    say(note);
  };
  return context;
}

}  // namespace

Hub::Hub(HubContext context, DownloadProgressFn on_progress)
    : context_(with_one_note_at_a_time(std::move(context))),
      on_progress_(std::move(on_progress)),
      connections_(std::make_shared<HubConnections>(context_)) {}

Hub::~Hub() = default;

std::vector<HubModelId> Hub::expand(const HubModelId& id) {
  if (!is_revision_pattern(id.revision)) return {id};
  const std::scoped_lock lock(mutex_);
  auto& ids = expanded_[id.text()];
  if (!ids.empty()) return ids;
  std::vector<std::string> names;
  if (context_.settings.offline) {
    names = HubCache(context_.settings, id.repo).revisions();
  } else {
    names = HubClient(context_, subject_of(id)).revisions();
  }
  for (std::string& name : matching_revisions(id.revision, names)) {
    ids.push_back(id);
    ids.back().revision = std::move(name);
  }
  if (!ids.empty()) return ids;
  names.resize(std::min(names.size(), kShownRevisions));
  throw Error(ErrorKind::usage,
              {.file = id.text(),
               .problem = "no branch or tag matches" +
                          verbatim(names.empty() ? "" : "; existing: " + join(names))});
}

HubModel Hub::fetch(const HubModelId& id) { return find(id, /*remote=*/false); }

HubModel Hub::open_remote(const HubModelId& id) { return find(id, /*remote=*/true); }

HubModel Hub::find(const HubModelId& id, bool remote) {
  const std::scoped_lock lock(mutex_);
  const auto known = found_.find({id.text(), remote});
  if (known != found_.end()) return known->second;
  try {
    HubModel model = remote ? open_remote_new(id) : fetch_new(id);
    return found_.emplace(std::pair(id.text(), remote), std::move(model)).first->second;
  } catch (const HubError& error) {
    if (error.fault() != HubFault::unreachable) throw;
    // A mistyped path looks like a model name, too.
    ErrorParts parts = error.parts();
    if (parts.file == id.text())
      parts.problem = "no such local file or folder, and " + parts.problem;
    throw HubError(HubFault::unreachable, std::move(parts));
  }
}

HubListing Hub::list(const HubModelId& id, int retries) {
  HubClient client(context_, subject_of(id));
  try {
    return client.list(retries);
  } catch (const HubError& error) {
    if (error.fault() != HubFault::no_revision) throw;
    std::vector<std::string> names = client.revisions();
    const std::string meant = suggestion(id.revision, names);
    names.resize(std::min(names.size(), kShownRevisions));
    ErrorParts parts = error.parts();
    parts.problem += verbatim(meant.empty() ? "; existing: " + join(names) : meant);
    throw HubError(HubFault::no_revision, std::move(parts));
  }
}

HubModel Hub::fetch_new(const HubModelId& id) {
  const HubCache cache(context_.settings, id.repo);
  const auto cached_commit = cache.commit_of(id.revision);
  std::optional<HubModel> cached;
  if (cached_commit) cached = whole_model(cache, id, *cached_commit);
  if (context_.settings.offline && !cached) refuse_offline(id, context_.settings);
  if (cached && (context_.settings.offline || is_commit(id.revision))) return *cached;

  HubListing listing;
  try {
    listing = list(id, cached ? 0 : HubClient::kRetries);
  } catch (const HubError& error) {
    if (!cached || error.fault() == HubFault::no_revision) throw;
    if (context_.on_note) {
      context_.on_note(
          verbatim(std::string(error.what()) + "; using the cached commit " + *cached_commit));
    }
    return *cached;
  }
  const ModelFiles wanted = model_files(id, listing.files);
  HubModel model{.folder = cache.snapshot(listing.commit) / wanted.folder,
                 .weights = wanted.weights};
  const auto download = [&](const std::vector<std::string>& names) {
    const std::vector<HubFile> missing = missing_files(cache, listing, wanted.folder, names);
    if (missing.empty()) return;
    cache.prepare(listing.commit);
    download_files(context_, subject_of(id), cache, listing.commit, missing, on_progress_);
  };
  download(wanted.needed);
  download(shards_of(model.folder, model.weights));
  try {
    cache.write_ref(id.revision, listing.commit);
    for (const std::string& name : wanted.absent) {
      cache.write_absent(listing.commit, wanted.folder + name);
    }
  } catch (const Error&) {  // a complete cache may be read-only
  }
  return model;
}

HubModel Hub::open_remote_new(const HubModelId& id) {
  const HubCache cache(context_.settings, id.repo);
  if (context_.settings.offline) return fetch_new(id);
  const HubListing listing = list(id, HubClient::kRetries);
  if (auto cached = whole_model(cache, id, listing.commit)) return *cached;
  if (fetcher_ == nullptr) fetcher_ = std::make_shared<Fetcher>();
  const ModelFiles wanted = model_files(id, listing.files);
  // The contents of a commit never change.
  std::string root = "hf://";
  root.append(id.repo).append("@").append(listing.commit);
  if (!wanted.folder.empty()) {
    root.append("/").append(wanted.folder, 0, wanted.folder.size() - 1);
  }
  std::vector<RemoteFile> files;
  for (const HubFile& file : listing.files) {
    if (!file.path.starts_with(wanted.folder)) continue;
    std::string name = file.path.substr(wanted.folder.size());
    if (name.find('/') != name.npos) continue;
    HubSubject subject = subject_of(id);
    subject.file = file.path;
    std::optional<std::uint64_t> bytes = file.size;
    if (!bytes) bytes = HubClient(context_, subject).facts(listing.commit, file.path).size;
    if (!bytes)
      throw Error(ErrorKind::io, id.text() + ": " + file.path,
                  "the hub reports no size for this file");
    files.push_back({.name = name,
                     .path = std::filesystem::path(root) / name,
                     .bytes = *bytes,
                     .source = range_source(connections_, subject, listing.commit, *bytes),
                     .fetcher = fetcher_});
  }
  return {.folder = CheckpointFolder(root, std::move(files)), .weights = wanted.weights};
}

}  // namespace attnscope
