// Text → token ids and back, by the tokenizer of a checkpoint.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/inputs/text/token_text.h"

namespace attnscope {

/// Ids of special tokens; nothing if a tokenizer has no such token.
struct SpecialTokens {
  std::optional<std::int64_t> mask;     // the place that a masked-language model fills
  std::optional<std::int64_t> begin;    // "bos"
  std::optional<std::int64_t> end;      // "eos": generated text ends at it
  std::optional<std::int64_t> unknown;  // stands for text without a token
  std::optional<std::int64_t> padding;
};

/// Limit for tokenizer files. The largest in use are near 35 MB.
inline constexpr std::uint64_t kTokenizerLimitBytes = 100'000'000;
/// Limit for a text. Encoding takes up to 200 bytes of memory for each byte of text.
inline constexpr std::uint64_t kTextLimitBytes = 50'000'000;

/// Owns a loaded tokenizer; move-only. Several threads may call its functions at the same time.
class Tokenizer {
 public:
  /// The tokenizer beside a checkpoint: tokenizer.json, else vocab.json with merges.txt (byte-level
  /// BPE: GPT-2, RoBERTa, OPT), else vocab.txt (WordPiece: BERT). Nothing if `folder` has none of
  /// them. Reads tokenizer_config.json and special_tokens_map.json if they exist. Throws Error(io)
  /// or Error(format) that names the file, and Error(unsupported) in a build without tokenizers.
  static std::optional<Tokenizer> find(const CheckpointFolder& folder);

  /// The same; Error(io) says what is missing.
  static Tokenizer open(const CheckpointFolder& folder);

  /// From the text of a tokenizer.json; errors name it `file`.
  static Tokenizer of_json(std::string_view json, std::string_view file);

  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// The ids of `text`; with `special`, also those that the tokenizer puts around a text ([CLS] …
  /// [SEP], a beginning of text). Throws Error(format) if `text` is not UTF-8 (naming the byte), is
  /// longer than kTextLimitBytes, or cannot be expressed by the tokenizer.
  std::vector<std::int64_t> encode(std::string_view text, bool special) const;

  /// The text of `ids`, in UTF-8; with `skip_special`, without special tokens. Ids without a token
  /// are left out, because models often have more embeddings than their tokenizer has tokens.
  std::string decode(std::span<const std::int64_t> ids, bool skip_special) const;

  /// How the vocabulary spells a token: "Ġthe", "▁the", "##ing", "<0x0A>".
  std::optional<std::string> spelling(std::int64_t id) const;
  /// The bytes that a token stands for in a text, not always valid UTF-8: " the", "\n". A
  /// WordPiece's "##" stays, because nothing else shows that it continues a word.
  std::optional<std::string> bytes(std::int64_t id) const;
  /// token_text() of bytes(); "<no token 50300>" for an id without a token.
  std::string text(std::int64_t id, Spaces spaces = Spaces::kept) const;
  /// The id of a token by its spelling.
  std::optional<std::int64_t> id(std::string_view spelling) const;

  /// Number of tokens, including those added after training.
  std::int64_t count() const;
  const SpecialTokens& special_tokens() const { return special_tokens_; }
  /// The file that the tokenizer was read from.
  const std::string& file() const { return file_; }

 private:
  struct Handle;
  Tokenizer(std::unique_ptr<Handle> handle, std::string file);

  std::unique_ptr<Handle> handle_;
  std::string file_;
  SpecialTokens special_tokens_;
};

// How much memory tokenizers may take.

/// Sets about how much memory encoding or decoding may take if the steps of a tokenizer.json make a
/// text longer. Up to eight times a text's length always fits. Holds for the whole process, as its
/// memory does; 4 GiB before the first call.
void limit_tokenizer_memory(std::uint64_t bytes);

}  // namespace attnscope
