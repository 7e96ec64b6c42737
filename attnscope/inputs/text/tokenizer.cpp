#include "attnscope/inputs/text/tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "attnscope/base/crate_bytes.h"
#include "attnscope/base/error.h"
#include "attnscope/inputs/text/rust_tokenizers.h"
#include "attnscope/inputs/text/tokenizer_files.h"

namespace attnscope {
namespace {

std::optional<std::uint32_t> crate_id(std::int64_t id) {
  if (id < 0 || id > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(id);
}

[[noreturn]] void refuse_tokenizer(const std::string& file, std::string_view problem,
                                   const CrateBytes& message) {
  throw Error(ErrorKind::format,
              {.file = file, .problem = std::string(problem) + ": " + verbatim(message.text())});
}

}  // namespace

struct Tokenizer::Handle {
  tokc_tokenizer* crate = nullptr;
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { tokc_unload(crate); }
};

Tokenizer::Tokenizer(std::unique_ptr<Handle> handle, std::string file)
    : handle_(std::move(handle)), file_(std::move(file)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

void limit_tokenizer_memory(std::uint64_t bytes) {
  tokc_limit_memory(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, SIZE_MAX)));
}

std::optional<Tokenizer> Tokenizer::find(const CheckpointFolder& folder) {
  const auto files = find_tokenizer_files(folder);
  if (!files) return std::nullopt;
  Tokenizer tokenizer = of_json(files->json, files->file);
  const std::optional<std::int64_t> unknown = tokenizer.special_tokens_.unknown;
  tokenizer.special_tokens_ = special_tokens_of(
      files->special, [&](std::string_view spelling) { return tokenizer.id(spelling); });
  // The model's token for unknown text, whatever other files specify.
  if (unknown) tokenizer.special_tokens_.unknown = unknown;
  tokenizer.gives_types_ = files->gives_types;
  return tokenizer;
}

Tokenizer Tokenizer::open(const CheckpointFolder& folder) {
  auto found = find(folder);
  if (!found) {
    throw Error(
        ErrorKind::io,
        {.file = folder.path().string(),
         .problem = "has no tokenizer: no tokenizer.json, no vocab.json with merges.txt, no "
                    "tokenizer.model, and no vocab.txt",
         .hint = "text requires a tokenizer; pass token ids instead"});
  }
  return std::move(*found);
}

Tokenizer Tokenizer::of_json(std::string_view json, std::string_view file) {
  auto handle = std::make_unique<Handle>();
  CrateBytes message;
  const int status = tokc_load(bytes_of(json), json.size(), &handle->crate, message.out());
  if (status == tokc_absent) {
    throw Error(ErrorKind::unsupported,
                {.file = std::string(file),
                 .problem = "this build of attnscope has no tokenizer support",
                 .hint = "pass token ids, or rebuild with cargo installed"});
  }
  if (status != tokc_ok) refuse_tokenizer(std::string(file), "is not a valid tokenizer", message);
  Tokenizer tokenizer(std::move(handle), std::string(file));
  tokenizer.special_tokens_ =
      special_tokens_of({}, [&](std::string_view spelling) { return tokenizer.id(spelling); });
  std::uint32_t unknown = 0;
  if (tokc_unknown(tokenizer.handle_->crate, &unknown)) tokenizer.special_tokens_.unknown = unknown;
  return tokenizer;
}

namespace {

void check_text_size(std::size_t size) {
  if (size <= kTextLimitBytes) return;
  throw Error(ErrorKind::format,
              {.place = "text",
               .problem = "is longer than " + std::to_string(kTextLimitBytes) + " bytes",
               .hint = "encode the text in parts, or into a token shard"});
}

/// The numbers in the memory of the crate.
std::vector<std::uint32_t> numbers_of(const CrateBytes& bytes) {
  std::vector<std::uint32_t> numbers(bytes.size() / sizeof(std::uint32_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

}  // namespace

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, bool special) const {
  check_text_size(text.size());
  CrateBytes ids, message;
  std::size_t position = 0;
  const int status = tokc_encode(handle_->crate, bytes_of(text), text.size(), special ? 1 : 0,
                                 ids.out(), &position, message.out());
  if (status == tokc_bad_utf8) {
    throw Error(ErrorKind::format,
                {.place = "text", .problem = "is not UTF-8 at byte " + std::to_string(position)});
  }
  if (status != tokc_ok) refuse_tokenizer(file_, "cannot encode the text", message);
  const std::vector<std::uint32_t> narrow = numbers_of(ids);
  return {narrow.begin(), narrow.end()};
}

EncodedText Tokenizer::encode_with_offsets(std::string_view text) const {
  check_text_size(text.size());
  CrateBytes ids, offsets, message;
  const int status = tokc_encode_offsets(handle_->crate, bytes_of(text), text.size(), ids.out(),
                                         offsets.out(), message.out());
  if (status != tokc_ok) refuse_tokenizer(file_, "cannot encode the text", message);
  const std::vector<std::uint32_t> narrow = numbers_of(ids), ends = numbers_of(offsets);
  EncodedText out{.ids = {narrow.begin(), narrow.end()}, .offsets = {}};
  for (std::size_t at = 0; at + 1 < ends.size(); at += 2) {
    out.offsets.push_back({.begin = ends[at], .end = ends[at + 1]});
  }
  return out;
}

TokenIds Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                bool special) const {
  check_text_size(first.size() + second.size());
  CrateBytes ids, types, texts, message;
  const int status = tokc_encode_pair(handle_->crate, bytes_of(first), first.size(),
                                      bytes_of(second), second.size(), special ? 1 : 0, ids.out(),
                                      types.out(), texts.out(), message.out());
  if (status != tokc_ok) refuse_tokenizer(file_, "cannot encode the pair of texts", message);
  const std::vector<std::uint32_t> narrow = numbers_of(ids), of_types = numbers_of(types);
  TokenIds out(narrow.begin(), narrow.end());
  if (gives_types_) out.types.assign(of_types.begin(), of_types.end());
  for (const std::uint32_t text : numbers_of(texts)) {
    out.texts.push_back(text == UINT32_MAX ? -1 : static_cast<std::int64_t>(text));
  }
  return out;
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids, bool skip_special) const {
  std::vector<std::uint32_t> narrow;
  narrow.reserve(ids.size());
  for (const std::int64_t id : ids) {
    if (const auto known = crate_id(id)) narrow.push_back(*known);
  }
  CrateBytes text, message;
  const int status = tokc_decode(handle_->crate, narrow.data(), narrow.size(), skip_special ? 1 : 0,
                                 text.out(), message.out());
  if (status != tokc_ok) refuse_tokenizer(file_, "cannot decode the ids", message);
  return text.text();
}

std::optional<std::string> Tokenizer::spelling(std::int64_t id) const {
  const auto known = crate_id(id);
  CrateBytes spelling, meaning;
  if (!known || !tokc_token(handle_->crate, *known, spelling.out(), meaning.out())) {
    return std::nullopt;
  }
  return spelling.text();
}

std::optional<std::string> Tokenizer::bytes(std::int64_t id) const {
  const auto known = crate_id(id);
  CrateBytes spelling, meaning;
  if (!known || !tokc_token(handle_->crate, *known, spelling.out(), meaning.out())) {
    return std::nullopt;
  }
  return meaning.text();
}

std::string Tokenizer::text(std::int64_t id, Spaces spaces) const {
  const auto known = bytes(id);
  return known ? token_text(*known, spaces) : "<no token " + std::to_string(id) + ">";
}

std::optional<std::int64_t> Tokenizer::id(std::string_view spelling) const {
  std::uint32_t found = 0;
  if (!tokc_id(handle_->crate, bytes_of(spelling), spelling.size(), &found)) return std::nullopt;
  return found;
}

std::int64_t Tokenizer::count() const {
  return static_cast<std::int64_t>(tokc_count(handle_->crate));
}

}  // namespace attnscope
