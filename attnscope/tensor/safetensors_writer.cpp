#include "attnscope/tensor/safetensors_writer.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "attnscope/base/checked_arithmetic.h"
#include "attnscope/base/error.h"

namespace attnscope {
namespace {

static_assert(std::endian::native == std::endian::little,
              "SafetensorsWriter requires a little-endian machine");

constexpr std::uint64_t kMaxFile = std::numeric_limits<std::int64_t>::max();

std::string header_of(const std::vector<SavedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t at = 0;
  for (const SavedTensor& tensor : tensors) {
    const std::uint64_t end = at + saved_bytes(tensor);
    if (end > kMaxFile)
      throw Error(ErrorKind::unsupported, tensor.name, "is too large for a safetensors file");
    header[tensor.name] = {
        {"dtype", dtype_name(tensor.type)}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  constexpr std::size_t kAlignment = 8;  // position of the first element
  while (text.size() % kAlignment != 0) text += ' ';
  return text;
}

}  // namespace

std::uint64_t saved_bytes(const SavedTensor& tensor) {
  std::uint64_t bits = static_cast<std::uint64_t>(dtype_info(tensor.type).bits);
  for (const std::int64_t size : tensor.shape) {
    const auto product = checked_mul(bits, static_cast<std::uint64_t>(size));
    if (!product || *product > kMaxFile) {
      throw Error(ErrorKind::unsupported, tensor.name, "is too large for a safetensors file");
    }
    bits = *product;
  }
  return bits / 8;
}

SafetensorsWriter::SafetensorsWriter(std::vector<SavedTensor> tensors, std::ostream& out,
                                     const std::map<std::string, std::string>& metadata)
    : tensors_(std::move(tensors)), out_(out) {
  const std::string header = header_of(tensors_, metadata);
  for (std::uint64_t rest = header.size(), at = 0; at < 8; ++at, rest >>= 8) {
    out_ << static_cast<char>(rest & 0xFF);
  }
  out_ << header;
  if (!tensors_.empty()) left_ = saved_bytes(tensors_.front());
  skip_whole();
}

void SafetensorsWriter::skip_whole() {
  while (left_ == 0 && tensor_ < tensors_.size()) {
    if (++tensor_ < tensors_.size()) left_ = saved_bytes(tensors_[tensor_]);
  }
}

void SafetensorsWriter::take(DType type, std::uint64_t bytes) {
  while (bytes > 0) {
    if (tensor_ == tensors_.size() || tensors_[tensor_].type != type) {
      throw std::logic_error("more elements than the file's header declares");
    }
    const std::uint64_t taken = std::min<std::uint64_t>(bytes, left_);
    bytes -= taken;
    left_ -= taken;
    skip_whole();
  }
}

void SafetensorsWriter::write(std::span<const float> elements) {
  write(DType::f32, std::as_bytes(elements));
}

void SafetensorsWriter::write(std::span<const std::int64_t> elements) {
  write(DType::i64, std::as_bytes(elements));
}

void SafetensorsWriter::write(DType type, std::span<const std::byte> elements) {
  take(type, elements.size());
  out_.write(reinterpret_cast<const char*>(elements.data()),
             static_cast<std::streamsize>(elements.size()));
}

void SafetensorsWriter::end() {
  if (tensor_ < tensors_.size()) throw std::logic_error("a tensor was not written completely");
}

}  // namespace attnscope
