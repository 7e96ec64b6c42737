// The name of a model on the hub: org/name, name, org/name@revision, org/name/file.gguf.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnscope {

struct HubModelId {
  std::string repo;               // "org/name", or "name" of the oldest models
  std::string part;               // a file or folder of it; empty: all of it
  std::string revision = "main";  // a branch, a tag, a commit; may be a pattern: "step*"
  bool names_revision = false;    // whether the user gave it

  /// As the user would type it.
  std::string text() const;
};

/// Nothing if `text` can only be a path: it begins like one, is the name of a weights file, or has
/// a part that no model's name can have.
std::optional<HubModelId> parse_hub_model(std::string_view text);

/// Whether a repository's file may have this name: a relative path that stays within its folder.
bool is_safe_file_name(std::string_view name);

/// Whether it may name a branch, a tag or a commit.
bool is_safe_revision(std::string_view revision);

/// Whether the revision is a commit's 40 digits, which never changes its meaning.
bool is_commit(std::string_view revision);

/// Whether the revision is a pattern of several: holds `*` or `?`.
bool is_revision_pattern(std::string_view revision);

/// The `names` that match the pattern, ordered by the numbers in them: step2 before step10.
std::vector<std::string> matching_revisions(std::string_view pattern,
                                            const std::vector<std::string>& names);

}  // namespace attnscope
