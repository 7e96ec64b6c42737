// The entry of GGUF: reads files into the form of transformers (names, order of rows, a
// config.json, a tokenizer.json) with gguf_file, gguf_tensors, gguf_config and gguf_tokenizer.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/file_formats.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

bool recognizes_gguf(std::span<const std::byte> start);

/// All parts of a file named like "X-00002-of-00003.gguf"; for other names the file itself.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& file);

/// Reads all parts, in order; returns the contents of each. Throws Error(format) if they are not
/// parts of one model, and as parse_gguf() does.
std::vector<FileContents> read_gguf(std::span<const MappedFile> parts);

/// Interprets the parsed parts. An unknown architecture keeps its names and has no config. Calls
/// `need` for the few tensors whose values are read.
std::vector<FileContents> gguf_contents(std::span<const GgufFile> parts,
                                        const NeedBytes& need = {});

}  // namespace attnscope
