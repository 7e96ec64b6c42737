// Names of models on the hub: org/name, name, org/name@revision, org/name/file.gguf.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

struct HubModelId {
  std::string repo;               // "org/name", or "name" for the oldest models
  std::string part;               // a file or folder of the repository; empty: the whole repository
  std::string revision = "main";  // a branch, tag or commit; may be a pattern: "step*"
  bool names_revision = false;    // whether the user specified it

  /// Returns the name as the user would type it.
  std::string text() const;
};

/// Returns nothing if `text` can only be a path. It is a path if it begins like one, is the name of
/// a weights file, or contains a part that is not valid in model names.
std::optional<HubModelId> parse_hub_model(std::string_view text);

/// Whether a file of a repository may have this name: a relative path that stays within its folder.
bool is_safe_file_name(std::string_view name);

/// Whether `name` is valid for a branch, tag or commit.
bool is_safe_revision(std::string_view revision);

/// Whether the revision is a commit's 40 digits. Such a revision always means the same files.
bool is_commit(std::string_view revision);

/// Whether the revision is a pattern: it contains `*` or `?`.
bool is_revision_pattern(std::string_view revision);

/// Returns the `names` that match the pattern, ordered by the numbers in them: step2 before step10.
std::vector<std::string> matching_revisions(std::string_view pattern,
                                            const std::vector<std::string>& names);

}  // namespace attnscope
