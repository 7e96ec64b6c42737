#include "attnscope/checkpoint/file_formats.h"

#include "attnscope/checkpoint/gguf/gguf_reader.h"
#include "attnscope/checkpoint/llama2c.h"
#include "attnscope/checkpoint/npz.h"
#include "attnscope/checkpoint/onnx.h"
#include "attnscope/checkpoint/pytorch/pytorch.h"
#include "attnscope/checkpoint/safetensors.h"

namespace attnscope {

std::span<const FileFormat> file_formats() {
  static const std::vector<FileFormat> formats = {
      {.name = "safetensors",
       .usual = "model.safetensors",
       .endings = {".safetensors"},
       .recognizes = nullptr,
       .read = read_safetensors,
       .start_bytes_of_tensor = 58,  // {"dtype":"F8_E4M3","shape":[2048,7168],"data_offsets":[,]}
       .may_bring_config = false},
      {"PyTorch", "pytorch_model.bin", {".bin", ".pt", ".pth", ".ckpt"}, is_pytorch, read_pytorch},
      {"GGUF", "", {".gguf"}, recognizes_gguf, nullptr, gguf_parts, read_gguf},
      {"llama2.c", "", {".bin"}, is_llama2c, read_llama2c},
      {.name = "NumPy",
       .usual = "weights.npz",
       .endings = {".npz"},
       .recognizes = nullptr,
       .read = read_npz,
       .may_bring_config = false},
      {.name = "ONNX",
       .usual = "model.onnx",
       .endings = {".onnx"},
       .recognizes = nullptr,
       .read = read_onnx,
       .may_bring_config = false},
  };
  return formats;
}

}  // namespace attnscope
