// Folders of sentence-transformers: modules.json, and one folder per module.
#pragma once

#include <filesystem>

namespace attnscope {

/// Returns the folder of the transformer in a folder of sentence-transformers: `0_Transformer`, or
/// the path of the first module in modules.json. Returns `folder` itself if it has a config.json or
/// no modules.json. Throws Error(format) if modules.json is malformed, names no transformer, or
/// names a path that is not a folder inside `folder`.
std::filesystem::path transformer_folder(const std::filesystem::path& folder);

}  // namespace attnscope
