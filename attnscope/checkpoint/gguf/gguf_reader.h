// The entry point of GGUF: reads files into the form of transformers (names, row order,
// config.json, tokenizer.json) with gguf_file, gguf_tensors, gguf_config and gguf_tokenizer.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/file_formats.h"
#include "attnscope/checkpoint/gguf/gguf_file.h"

namespace attnscope {

bool recognizes_gguf(std::span<const std::byte> start);

/// Returns all parts of a file with a name like "X-00002-of-00003.gguf"; for other names the file
/// itself.
std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& file);

/// Reads all parts, in order, and returns the contents of each. Throws Error(format) if they are
/// not parts of one model, and the errors of parse_gguf().
std::vector<FileContents> read_gguf(std::span<const MappedFile> parts);

/// Interprets the parsed parts. Tensors of an unknown architecture keep their names, and there is
/// no config. Calls `need` for the few tensors whose values are read.
std::vector<FileContents> gguf_contents(std::span<const GgufFile> parts,
                                        const NeedBytes& need = {});

}  // namespace attnscope
