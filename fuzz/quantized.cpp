// A quantization_config and the tensors of quantized weights, then every decoded value. Input: the
// length of the config (two bytes), the config, and a safetensors file.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/tensor/tensor_matrix.h"

using namespace attnscope;

namespace {

/// A temporary file that receives each input, and is removed at the end of the process.
class InputFile {
 public:
  InputFile() {
    constexpr std::string_view kEnding = ".safetensors";
    path_ = std::filesystem::temp_directory_path() / "attnscope-fuzz-XXXXXX";
    path_ += kEnding;
    descriptor_ = mkostemps(path_.data(), static_cast<int>(kEnding.size()), O_CLOEXEC);
    if (descriptor_ < 0) std::abort();
  }
  ~InputFile() { unlink(path_.c_str()); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& write(const std::uint8_t* data, std::size_t size) {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, data, size, 0) != static_cast<ssize_t>(size)) {
      std::abort();
    }
    return path_;
  }

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Decodes the whole tensor, its last element, and the stored bytes of its last row.
void decode_blocks(const TensorView& tensor) {
  const std::int64_t rows = tensor.rows(), cols = tensor.cols();
  Matrix<float> whole(rows, cols);
  tensor.source->decode(0, 0, whole.view());
  Matrix<float> corner(1, 1);
  tensor.source->decode(rows - 1, cols - 1, corner.view());
  for (const auto part : tensor.source->reads(rows - 1, 1, 0, cols)) {
    volatile std::byte last = part.empty() ? std::byte{0} : part.back();
    static_cast<void>(last);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static InputFile file;
  if (size < 2) return 0;
  const std::size_t length = data[0] | data[1] << 8;
  if (length > size - 2) return 0;
  const std::string config(reinterpret_cast<const char*>(data) + 2, length);
  try {
    Checkpoint checkpoint = Checkpoint::open(file.write(data + 2 + length, size - 2 - length));
    std::string method;
    const auto parsed = nlohmann::json::parse(config, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_object()) {
      const auto said = parsed.find("quant_method");
      if (said != parsed.end() && said->is_string()) method = said->get<std::string>();
      checkpoint.compose_quantized(method, config, "config");
    } else {
      checkpoint.compose_quantized("", "", "config");
    }
    for (const CheckpointTensor& tensor : checkpoint.tensors()) {
      try {
        if (tensor.view.source != nullptr) decode_blocks(tensor.view);
      } catch (const Error&) {  // groups that do not exist
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
