#include "attnscope/output/safetensors_file.h"

#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "attnscope/core/checked.h"
#include "attnscope/core/error.h"

namespace attnscope {
namespace {

static_assert(std::endian::native == std::endian::little,
              "SafetensorsWriter stores elements as they lie in memory");

std::uint64_t element_bytes(SavedTensor::Type type) {
  return type == SavedTensor::Type::float32 ? sizeof(float) : sizeof(std::int64_t);
}

/// Throws Error(unsupported) where the tensor's bytes, after `before` others, pass what a file can
/// hold.
std::uint64_t element_count(const SavedTensor& tensor, std::uint64_t before) {
  std::uint64_t bytes = element_bytes(tensor.type);
  for (const std::int64_t size : tensor.shape) {
    const auto product = checked_mul(bytes, static_cast<std::uint64_t>(size));
    const auto end = product ? checked_add(before, *product) : std::nullopt;
    if (!end || *end > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      throw Error(ErrorKind::unsupported, tensor.name, "is too large for a file");
    }
    bytes = *product;
  }
  return bytes / element_bytes(tensor.type);
}

std::string header_of(const std::vector<SavedTensor>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t at = 0;
  for (const SavedTensor& tensor : tensors) {
    const std::uint64_t end = at + element_count(tensor, at) * element_bytes(tensor.type);
    header[tensor.name] = {{"dtype", tensor.type == SavedTensor::Type::float32 ? "F32" : "I64"},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump();
  constexpr std::size_t kAlignment = 8;  // of the first element
  while (text.size() % kAlignment != 0) text += ' ';
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::vector<SavedTensor> tensors, std::ostream& out)
    : tensors_(std::move(tensors)), out_(out) {
  const std::string header = header_of(tensors_);
  for (std::uint64_t rest = header.size(), at = 0; at < 8; ++at, rest >>= 8) {
    out_ << static_cast<char>(rest & 0xFF);
  }
  out_ << header;
  if (!tensors_.empty()) left_ = element_count(tensors_.front(), 0);
  skip_whole();
}

void SafetensorsWriter::skip_whole() {
  while (left_ == 0 && tensor_ < tensors_.size()) {
    if (++tensor_ < tensors_.size()) left_ = element_count(tensors_[tensor_], 0);
  }
}

void SafetensorsWriter::take(SavedTensor::Type type, std::size_t count) {
  if (count > left_ || tensors_[tensor_].type != type) {
    throw std::logic_error("elements that the file's header does not announce");
  }
  left_ -= count;
  skip_whole();
}

void SafetensorsWriter::write(std::span<const float> elements) {
  if (elements.empty()) return;
  take(SavedTensor::Type::float32, elements.size());
  out_.write(reinterpret_cast<const char*>(elements.data()),
             static_cast<std::streamsize>(elements.size_bytes()));
}

void SafetensorsWriter::write(std::span<const std::int64_t> elements) {
  if (elements.empty()) return;
  take(SavedTensor::Type::int64, elements.size());
  out_.write(reinterpret_cast<const char*>(elements.data()),
             static_cast<std::streamsize>(elements.size_bytes()));
}

void SafetensorsWriter::end() {
  if (tensor_ < tensors_.size()) throw std::logic_error("a tensor was not written to its end");
}

}  // namespace attnscope
