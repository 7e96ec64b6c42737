#include "attnscope/checkpoint/gguf/gguf_reader.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "attnscope/checkpoint/gguf/block_source.h"
#include "attnscope/checkpoint/gguf/gguf_config.h"
#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/checkpoint/gguf/gguf_tokenizer.h"
#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/core/wording.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/rearranged.h"

namespace attnscope {
namespace {

constexpr std::string_view kHead = "output.weight", kEmbedding = "token_embd.weight";

/// Which tensors hold numbers that config.json has.
constexpr std::array<std::string_view, 3> kRopeTensors = {
    "rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight"};

bool is_rope_tensor(std::string_view name) {
  return std::find(kRopeTensors.begin(), kRopeTensors.end(), name) != kRopeTensors.end();
}

const GgufTensor* find_tensor(std::span<const GgufFile> parts, std::string_view name) {
  for (const GgufFile& part : parts) {
    for (const GgufTensor& tensor : part.tensors) {
      if (tensor.name == name) return &tensor;
    }
  }
  return nullptr;
}

bool ends_with_any(std::span<const GgufFile> parts,
                   std::initializer_list<std::string_view> endings) {
  return std::any_of(parts.begin(), parts.end(), [&](const GgufFile& part) {
    return std::any_of(part.tensors.begin(), part.tensors.end(), [&](const GgufTensor& tensor) {
      return std::any_of(endings.begin(), endings.end(),
                         [&](std::string_view ending) { return tensor.name.ends_with(ending); });
    });
  });
}

/// Old files repeat the embedding of tied models. Compared piece by piece: those of a model that is
/// not tied differ in the first.
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
  constexpr std::size_t kMaxBytes = 65536;  // as many as there are pairs in a head
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

GgufFacts facts_of(std::span<const GgufFile> parts, const NeedBytes& need) {
  const GgufTensor* embedding = find_tensor(parts, kEmbedding);
  const GgufTensor* head = find_tensor(parts, kHead);
  if (embedding == nullptr || embedding->shape.size() != 2) {
    parts.front().refuse("has no embedding '" + std::string(kEmbedding) + "' of two dimensions");
  }
  return {.vocabulary = embedding->shape[0],
          .tied = head == nullptr || same_bytes(*head, *embedding, need),
          .attention_bias = ends_with_any(parts, {".attn_q.bias", ".attn_qkv.bias"}),
          .mlp_bias = ends_with_any(parts, {".ffn_up.bias"}),
          .rope_divisors = small_values(parts, "rope_freqs.weight", need),
          .short_divisors = small_values(parts, "rope_factors_short.weight", need),
          .long_divisors = small_values(parts, "rope_factors_long.weight", need)};
}

/// The order in which a converted tensor's rows lie.
RowOrder order_of(Conversion conversion, const GgufHeads& heads, std::int64_t rows) {
  if (conversion == Conversion::heads_of_blocks) {
    return {.groups = 1, .outer = heads.heads, .inner = 3, .run = rows / (3 * heads.heads)};
  }
  const std::int64_t count = conversion == Conversion::query_pairs ? heads.heads : heads.kv_heads;
  return {.groups = count, .outer = 2, .inner = rows / (2 * count), .run = 1};
}

TensorView reverted(const TensorView& stored, Conversion conversion, const GgufHeads& heads,
                    const GgufFile& file, const std::string& name) {
  const auto refuse = [&](ErrorKind kind, std::string problem) {
    throw Error(kind, {.file = file.name, .tensor = name, .problem = std::move(problem)});
  };
  if (conversion == Conversion::none || stored.dtype == DType::packed) return stored;
  const std::size_t axes = stored.shape.size();
  if (axes != 2 && (conversion == Conversion::turned || axes != 1)) {
    refuse(ErrorKind::format, "shape " + shape_text(stored.shape) + " has not two dimensions");
  }
  if (conversion == Conversion::turned) return transposed(stored);
  if (dtype_info(stored.dtype).kind != DTypeClass::real || stored.dtype == DType::f64) {
    refuse(ErrorKind::unsupported, "rows of " + std::string(stored.storage_name()) +
                                       " that llama.cpp has put in another order are not read");
  }
  const RowOrder order = order_of(conversion, heads, stored.shape[0]);
  if (order.rows() != stored.shape[0]) {
    refuse(ErrorKind::format, counted(stored.shape[0], "row") + " cannot be shared out to " +
                                  counted(heads.heads, "head"));
  }
  return with_rows_in_order(stored, order);
}

/// The tensors of one part, as a model of the family has them.
std::vector<NamedTensor> tensors_of(const GgufFile& part, const GgufFamily& family,
                                    const GgufHeads& heads, bool tied, std::size_t& unknown) {
  std::vector<NamedTensor> out;
  for (const GgufTensor& tensor : part.tensors) {
    if (is_rope_tensor(tensor.name) || (tied && tensor.name == kHead)) continue;
    const TensorView stored = view_of(tensor, part.big_endian);
    const auto place = renamed(family, tensor.name);
    if (place) {
      out.push_back({place->name, reverted(stored, place->conversion, heads, part, tensor.name)});
    } else {
      ++unknown;
      out.push_back({tensor.name, stored});
    }
  }
  return out;
}

/// What keeps the parts of a split file from being one model.
void check_parts(std::span<const GgufFile> parts) {
  const auto count = parts.front().whole("split.count").value_or(1);
  if (count != std::ssize(parts) && count > 1) {
    parts.front().refuse("is part of " + std::to_string(count) +
                         " files, and its name does not say which");
  }
  std::int64_t tensors = 0;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    const GgufFile& part = parts[index];
    const auto number = part.whole("split.no").value_or(static_cast<std::int64_t>(index));
    if (number != static_cast<std::int64_t>(index)) {
      part.refuse("says that it is part " + std::to_string(number + 1) + ", and is named part " +
                  std::to_string(index + 1));
    }
    if (part.big_endian != parts.front().big_endian) {
      part.refuse("differs in byte order from the first part");
    }
    tensors += std::ssize(part.tensors);
  }
  const auto expected = parts.front().whole("split.tensors.count").value_or(tensors);
  if (expected != tensors) {
    parts.front().refuse("all parts hold " + counted(tensors, "tensor") + ", it says " +
                         std::to_string(expected));
  }
}

}  // namespace

bool recognises_gguf(std::span<const std::byte> start) {
  return start.size() >= 4 && std::memcmp(start.data(), "GGUF", 4) == 0;
}

std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& file) {
  // STEM-00001-of-00003.gguf
  constexpr std::size_t kDigits = 5;
  constexpr std::string_view kOf = "-of-", kEnding = ".gguf";
  constexpr std::size_t kTail = 1 + kDigits + kOf.size() + kDigits + kEnding.size();
  const std::string name = file.filename().string();
  if (name.size() <= kTail || !name.ends_with(kEnding)) return {file};
  const std::size_t first = name.size() - kTail;
  const std::string number = name.substr(first + 1, kDigits);
  const std::string count = name.substr(first + 1 + kDigits + kOf.size(), kDigits);
  const auto digits = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  };
  if (name[first] != '-' || name.compare(first + 1 + kDigits, kOf.size(), kOf) != 0 ||
      !digits(number) || !digits(count)) {
    return {file};
  }
  const int parts = std::stoi(count), own = std::stoi(number);
  if (own < 1 || own > parts) return {file};
  std::vector<std::filesystem::path> out;
  for (int part = 1; part <= parts; ++part) {
    std::string padded = std::to_string(part);
    padded.insert(0, kDigits - padded.size(), '0');
    out.push_back(file.parent_path() /
                  (name.substr(0, first + 1) + padded + name.substr(first + 1 + kDigits)));
  }
  return out;
}

std::vector<FileContents> gguf_contents(std::span<const GgufFile> parts, const NeedBytes& need) {
  check_parts(parts);
  std::vector<FileContents> out(parts.size());
  const GgufFile& head = parts.front();
  FileContents& first = out.front();
  const std::string architecture(head.text("general.architecture").value_or(""));
  const GgufFamily* family = find_gguf_family(architecture);
  if (family == nullptr) {
    for (std::size_t index = 0; index < parts.size(); ++index) {
      for (const GgufTensor& tensor : parts[index].tensors) {
        out[index].tensors.push_back({tensor.name, view_of(tensor, parts[index].big_endian)});
      }
    }
    first.notes.push_back("its architecture '" + printable(architecture) +
                          "' is not known: tensors keep their names");
  } else {
    const GgufHeads heads = heads_of(head);
    const GgufFacts facts = facts_of(parts, need);
    std::size_t unknown = 0;
    for (std::size_t index = 0; index < parts.size(); ++index) {
      out[index].tensors = tensors_of(parts[index], *family, heads, facts.tied, unknown);
    }
    if (unknown > 0) {
      first.notes.push_back(std::to_string(unknown) + " of its tensors " +
                            (unknown == 1 ? "is" : "are") + " unknown to '" + architecture +
                            "' models and " +
                            (unknown == 1 ? "keeps its name" : "keep their names"));
    }
    first.config = gguf_config(head, *family, facts, first.notes);
  }
  first.tokenizer = gguf_tokenizer(std::make_shared<const GgufFile>(head), first.notes);
  return out;
}

std::vector<FileContents> read_gguf(std::span<const MappedFile> parts) {
  std::vector<GgufFile> files;
  for (const MappedFile& part : parts) {
    files.push_back(parse_gguf(part.bytes(), part.path().string(),
                               [&](std::span<const std::byte> bytes) { part.need(bytes); }));
  }
  // need() looks at the bytes of its own file alone.
  return gguf_contents(files, [&](std::span<const std::byte> bytes) {
    for (const MappedFile& part : parts) part.need(bytes);
  });
}

}  // namespace attnscope
