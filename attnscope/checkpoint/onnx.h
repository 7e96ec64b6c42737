// The weights of ONNX models: the initializers of the graph. Source: onnx/onnx, onnx/onnx.proto.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "attnscope/checkpoint/byte_reader.h"
#include "attnscope/checkpoint/file_formats.h"

namespace attnscope {

/// Returns the initializers. PyTorch's exporter folds the transposes of Linear layers, and gives
/// their weights numbers. They get the name of the module that uses them
/// ("encoder.0.query.weight"), and the order of the module's weight. Initializers whose values
/// cannot be read are skipped, with a note. Values may be in another file of the folder. Throws
/// Error(format).
FileContents parse_onnx(std::span<const std::byte> model, std::string_view name,
                        const NeedBytes& need = {});

/// The same for a mapped file.
FileContents read_onnx(const MappedFile& file, std::string_view name);

}  // namespace attnscope
