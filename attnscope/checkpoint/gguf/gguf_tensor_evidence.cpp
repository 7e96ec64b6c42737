#include "attnscope/checkpoint/gguf/gguf_tensor_evidence.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "attnscope/base/error.h"
#include "attnscope/checkpoint/gguf/block_source.h"
#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/tensor/decode.h"

namespace attnscope {
namespace {

template <class Use>
void for_each_tensor(std::span<const GgufFile> parts, const Use& use) {
  for (const GgufFile& part : parts) {
    for (const GgufTensor& tensor : part.tensors) use(tensor);
  }
}

bool ends_with_any(std::span<const GgufFile> parts,
                   std::initializer_list<std::string_view> endings) {
  bool found = false;
  for_each_tensor(parts, [&](const GgufTensor& tensor) {
    found = found || std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
              return tensor.name.ends_with(ending);
            });
  });
  return found;
}

/// Old files repeat the embedding of tied models. Compared chunk by chunk, because untied weights
/// differ in the first chunk.
bool same_bytes(const GgufTensor& a, const GgufTensor& b, const NeedBytes& need) {
  constexpr std::size_t kPiece = 1 << 16;
  if (a.type != b.type || a.shape != b.shape || a.bytes.size() != b.bytes.size()) return false;
  for (std::size_t at = 0; at < a.bytes.size(); at += kPiece) {
    const std::size_t size = std::min(kPiece, a.bytes.size() - at);
    const auto ours = a.bytes.subspan(at, size), theirs = b.bytes.subspan(at, size);
    if (need) {
      need(ours);
      need(theirs);
    }
    if (std::memcmp(ours.data(), theirs.data(), size) != 0) return false;
  }
  return true;
}

std::vector<float> small_values(std::span<const GgufFile> parts, std::string_view name,
                                const NeedBytes& need) {
  const GgufTensor* tensor = find_tensor(parts, name);
  constexpr std::size_t kMaxBytes = 65536;  // the number of rotary pairs in a head
  if (tensor == nullptr) return {};
  const TensorView view = view_of(*tensor, parts.front().big_endian);
  if (view.dtype != DType::f32 || tensor->bytes.size() > kMaxBytes) {
    throw Error(ErrorKind::format, {.file = parts.front().name,
                                    .tensor = std::string(name),
                                    .problem = "is not a short list of F32 numbers"});
  }
  if (need) need(tensor->bytes);
  std::vector<float> out(static_cast<std::size_t>(view.element_count()));
  decode_elements(view, 0, 1, std::ssize(out), out.data());
  return out;
}

/// Returns the numbers of the layers that have this tensor.
std::set<std::string_view> layers_with(std::span<const GgufFile> parts, std::string_view rest) {
  std::set<std::string_view> layers;
  for_each_tensor(parts, [&](const GgufTensor& tensor) {
    const auto name = layer_tensor_name(tensor.name);
    if (name && name->rest == rest) layers.insert(name->layer);
  });
  return layers;
}

/// Returns the last layer that has this tensor.
std::optional<std::int64_t> last_with(std::span<const GgufFile> parts, std::string_view rest) {
  std::optional<std::int64_t> last;
  for_each_tensor(parts, [&](const GgufTensor& tensor) {
    const auto name = layer_tensor_name(tensor.name);
    std::int64_t layer = 0;
    if (!name || name->rest != rest) return;
    const char* end = name->layer.data() + name->layer.size();
    const bool read = std::from_chars(name->layer.data(), end, layer).ec == std::errc();
    if (read && layer >= last.value_or(0)) last = layer;
  });
  return last;
}

}  // namespace

GgufFacts gguf_facts(std::span<const GgufFile> parts, const NeedBytes& need) {
  const GgufTensor* embedding = find_tensor(parts, "token_embd.weight");
  const GgufTensor* head = find_tensor(parts, "output.weight");
  if (embedding == nullptr || embedding->shape.size() != 2) {
    parts.front().refuse("has no embedding 'token_embd.weight' of two dimensions");
  }
  const GgufTensor* output = find_tensor(parts, "blk.0.attn_output.weight");
  const bool audio = output != nullptr && output->shape.size() == 2;
  return {
      .vocabulary = embedding->shape[0],
      .tied = head == nullptr || same_bytes(*head, *embedding, need),
      .attention_bias = ends_with_any(parts, {".attn_q.bias", ".attn_qkv.bias"}),
      .mlp_bias = ends_with_any(parts, {".ffn_up.bias"}),
      .head_norms = ends_with_any(parts, {".attn_q_norm.weight"}),
      .values_are_keys = layers_with(parts, "attn_k.weight") != layers_with(parts, "attn_v.weight"),
      .last_expert_layer = last_with(parts, "ffn_gate_inp.weight"),
      .values_width = audio ? std::optional(output->shape[1]) : std::nullopt,
      .rope_divisors = small_values(parts, "rope_freqs.weight", need),
      .short_divisors = small_values(parts, "rope_factors_short.weight", need),
      .long_divisors = small_values(parts, "rope_factors_long.weight", need)};
}

}  // namespace attnscope
