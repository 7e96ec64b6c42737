// Which of a repository's files a model needs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/hub/hub_client.h"
#include "attnscope/hub/model_id.h"

namespace attnscope {

/// The files of a repository that are needed to open a model. Names are relative to `folder`.
struct ModelFiles {
  std::string folder;               // of the repository: "" or "sub/folder/"
  std::string weights;              // a file, or an index
  std::vector<std::string> needed;  // including the configuration and the tokenizer
  std::vector<std::string> absent;  // those that the repository lacks
};

/// Chooses from the list of the repository's files, in the same way as from a folder on this
/// machine. Shards that an index names are not included: see shards_of(). Throws what
/// find_weights() throws, and Error(io) if the part that `id` names does not exist.
ModelFiles model_files(const HubModelId& id, std::span<const HubFile> files);

}  // namespace attnscope
