// Text → token ids and back, as the tokenizer of a checkpoint says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/tokens/token_text.h"

namespace attnscope {

/// Ids of tokens with a meaning of their own; nothing where a tokenizer has no such token.
struct SpecialTokens {
  std::optional<std::int64_t> mask;     // what a masked-language model fills
  std::optional<std::int64_t> begin;    // "bos"
  std::optional<std::int64_t> end;      // "eos": generated text ends at it
  std::optional<std::int64_t> unknown;  // what stands for text without a token
  std::optional<std::int64_t> padding;
};

/// What is read at most: the largest tokenizers in use are near 35 MB.
inline constexpr std::uint64_t kTokenizerLimitBytes = 100'000'000;
/// Encoding takes up to 200 bytes of memory for each byte of text.
inline constexpr std::uint64_t kTextLimitBytes = 50'000'000;

/// Owns a loaded tokenizer; move-only. Its functions may be called by several threads at once.
class Tokenizer {
 public:
  /// The tokenizer beside a checkpoint: tokenizer.json, else vocab.json with merges.txt (byte-level
  /// BPE: GPT-2, RoBERTa, OPT), else vocab.txt (WordPiece: BERT). Nothing where `folder` has none
  /// of them. tokenizer_config.json and special_tokens_map.json are read where they are there.
  /// Throws Error(io) or Error(format) that names the file, and Error(unsupported) in a build
  /// without tokenizers.
  static std::optional<Tokenizer> find(const CheckpointFolder& folder);

  /// The same; Error(io) says what is missing.
  static Tokenizer open(const CheckpointFolder& folder);

  /// Of the text of a tokenizer.json; errors name it `file`.
  static Tokenizer of_json(std::string_view json, std::string_view file);

  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// The ids of `text`; with `special`, those that the tokenizer puts around a text ([CLS] … [SEP],
  /// a beginning of text) are among them. Throws Error(format) naming the byte where `text` is not
  /// UTF-8, where it is longer than kTextLimitBytes, or where the tokenizer cannot express it.
  std::vector<std::int64_t> encode(std::string_view text, bool special) const;

  /// The text of `ids`, in UTF-8; with `skip_special`, without special tokens. Ids without a token
  /// are left out: models often have more rows of embeddings than their tokenizer has tokens.
  std::string decode(std::span<const std::int64_t> ids, bool skip_special) const;

  /// How the vocabulary spells a token: "Ġthe", "▁the", "##ing", "<0x0A>".
  std::optional<std::string> spelling(std::int64_t id) const;
  /// The bytes that a token stands for, as a part of a text; they need not be UTF-8: " the", "\n".
  /// A WordPiece's "##" stays, as nothing else says that it goes on a word.
  std::optional<std::string> bytes(std::int64_t id) const;
  /// token_text() of bytes(); "<no token 50300>" where there is none.
  std::string text(std::int64_t id, Spaces spaces = Spaces::kept) const;
  /// The id of a token by its spelling.
  std::optional<std::int64_t> id(std::string_view spelling) const;

  /// Number of tokens, those added after training among them.
  std::int64_t count() const;
  const SpecialTokens& special_tokens() const { return special_tokens_; }
  /// The file that it was read from.
  const std::string& file() const { return file_; }

 private:
  struct Handle;
  Tokenizer(std::unique_ptr<Handle> handle, std::string file);

  std::unique_ptr<Handle> handle_;
  std::string file_;
  SpecialTokens special_tokens_;
};

}  // namespace attnscope
