// Which of a repository's files a model needs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/hub/hub_client.h"
#include "attnscope/hub/model_id.h"

namespace attnscope {

/// What opening a model takes of its repository. Files are named within `folder`.
struct ModelFiles {
  std::string folder;               // of the repository: "" or "sub/folder/"
  std::string weights;              // a file, or an index
  std::vector<std::string> needed;  // with those of the configuration and the tokenizer
  std::vector<std::string> absent;  // of these, what the repository lacks
};

/// By a list of its files; weights are chosen as in a folder on this machine. The shards that an
/// index names are not among them: see shards_of(). Throws what find_weights() throws, and
/// Error(io) where the part that `id` names is not there.
ModelFiles model_files(const HubModelId& id, std::span<const HubFile> files);

}  // namespace attnscope
