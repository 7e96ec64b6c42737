#include "attnscope/checkpoint/gguf/gguf_reader.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/gguf/block_source.h"
#include "attnscope/checkpoint/gguf/gguf_config.h"
#include "attnscope/checkpoint/gguf/gguf_family.h"
#include "attnscope/checkpoint/gguf/gguf_tensors.h"
#include "attnscope/checkpoint/gguf/gguf_tokenizer.h"

namespace attnscope {
namespace {

/// Checks that the parts of a split file form one model.
void check_parts(std::span<const GgufFile> parts) {
  const auto count = parts.front().whole("split.count").value_or(1);
  if (count != std::ssize(parts) && count > 1) {
    parts.front().refuse("is part of " + std::to_string(count) +
                         " files, but its name does not specify which");
  }
  std::int64_t tensors = 0;
  for (std::size_t index = 0; index < parts.size(); ++index) {
    const GgufFile& part = parts[index];
    const auto number = part.whole("split.no").value_or(static_cast<std::int64_t>(index));
    if (number != static_cast<std::int64_t>(index)) {
      part.refuse("contains part number " + std::to_string(number + 1) +
                  ", but its name specifies part " + std::to_string(index + 1));
    }
    if (part.big_endian != parts.front().big_endian) {
      part.refuse("differs in byte order from the first part");
    }
    tensors += std::ssize(part.tensors);
  }
  const auto expected = parts.front().whole("split.tensors.count").value_or(tensors);
  if (expected != tensors) {
    parts.front().refuse("all parts together contain " + counted(tensors, "tensor") +
                         ", but the header specifies " + std::to_string(expected));
  }
}

}  // namespace

bool recognizes_gguf(std::span<const std::byte> start) {
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
  const GgufFamily* family = find_gguf_family(parts);
  if (family == nullptr) {
    for (std::size_t index = 0; index < parts.size(); ++index) {
      for (const GgufTensor& tensor : parts[index].tensors) {
        out[index].tensors.push_back({tensor.name, view_of(tensor, parts[index].big_endian)});
      }
    }
    first.notes.push_back("its architecture '" + printable(architecture) +
                          "' is not known: tensors keep their GGUF names");
  } else {
    const GgufHeads heads = heads_of(head, *family);
    const GgufFacts facts = gguf_facts(parts, need);
    GgufTensors read(parts, *family, heads, facts.tied);
    for (std::size_t index = 0; index < parts.size(); ++index) {
      out[index].tensors = read.of_part(parts[index]);
    }
    const std::size_t unknown = read.unknown();
    if (unknown > 0) {
      first.notes.push_back(std::to_string(unknown) + " of its tensors " +
                            (unknown == 1 ? "is" : "are") + " unknown to '" + architecture +
                            "' models and " +
                            (unknown == 1 ? "keeps its name" : "keep their names"));
    }
    first.config = gguf_config(head, *family, facts, first.notes);
  }
  first.tokenizer = gguf_tokenizer(std::make_shared<const GgufFile>(head), first.notes);
  if (const auto chat = head.text("tokenizer.chat_template"); chat && first.tokenizer) {
    first.tokenizer_config = nlohmann::json{{"chat_template", *chat}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  return out;
}

std::vector<FileContents> read_gguf(std::span<const MappedFile> parts) {
  std::vector<GgufFile> files;
  for (const MappedFile& part : parts) {
    files.push_back(parse_gguf(part.bytes(), part.path().string(),
                               [&](std::span<const std::byte> bytes) { part.need(bytes); }));
  }
  // need() ignores the bytes of other files.
  return gguf_contents(files, [&](std::span<const std::byte> bytes) {
    for (const MappedFile& part : parts) part.need(bytes);
  });
}

}  // namespace attnscope
