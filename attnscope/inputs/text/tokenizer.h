// Converts text to token ids and back, with the tokenizer of a checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/checkpoint/checkpoint_folder.h"
#include "attnscope/inputs/text/token_text.h"

namespace attnscope {

/// Ids of special tokens; nothing if a tokenizer has no such token.
struct SpecialTokens {
  std::optional<std::int64_t> mask;     // the position that a masked-language model predicts
  std::optional<std::int64_t> begin;    // "bos"
  std::optional<std::int64_t> end;      // "eos": ends generated text
  std::optional<std::int64_t> unknown;  // stands for text without a token
  std::optional<std::int64_t> padding;
};

/// The limit for tokenizer files. The largest in use have about 35 MB.
inline constexpr std::uint64_t kTokenizerLimitBytes = 100'000'000;
/// The limit for a text. Encoding takes up to 200 bytes of memory per byte of text.
inline constexpr std::uint64_t kTextLimitBytes = 50'000'000;

/// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0, end = 0;
};

/// Token ids, and the bytes of the text that each token covers.
struct EncodedText {
  std::vector<std::int64_t> ids;
  std::vector<TextRange> offsets;
};

/// Owns a loaded tokenizer; move-only. Thread-safe.
class Tokenizer {
 public:
  /// Loads the tokenizer of a checkpoint folder. Prefers tokenizer.json, then vocab.json with
  /// merges.txt (byte-level BPE: GPT-2, RoBERTa, OPT), then tokenizer.model (SentencePiece or
  /// tiktoken) under one of its names, then vocab.txt (WordPiece: BERT).
  /// Returns nothing if `folder` has none of them. Reads tokenizer_config.json and
  /// special_tokens_map.json if they exist. Throws Error(io) or Error(format) that names the file,
  /// and Error(unsupported) in a build without tokenizers.
  static std::optional<Tokenizer> find(const CheckpointFolder& folder);

  /// The same, but throws Error(io) if there is no tokenizer.
  static Tokenizer open(const CheckpointFolder& folder);

  /// Loads the text of a tokenizer.json; errors name it `file`.
  static Tokenizer of_json(std::string_view json, std::string_view file);

  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  /// Returns the ids of `text`; with `special`, including special tokens ([CLS] … [SEP], BOS).
  /// Throws Error(format) if `text` is not UTF-8 (with the position of the byte), is longer than
  /// kTextLimitBytes, or cannot be encoded by the tokenizer.
  std::vector<std::int64_t> encode(std::string_view text, bool special) const;

  /// Returns the ids of `text` without added special tokens, and their places. Throws as encode().
  EncodedText encode_with_offsets(std::string_view text) const;

  /// Returns the ids of a pair of texts, with the token type and the text of each token. Throws as
  /// encode().
  TokenIds encode_pair(std::string_view first, std::string_view second, bool special) const;

  /// Returns the text of `ids`, in UTF-8; with `skip_special`, without special tokens. Ids without
  /// a token are skipped, because many models have more embeddings than their tokenizer has tokens.
  std::string decode(std::span<const std::int64_t> ids, bool skip_special) const;

  /// Returns the spelling of a token in the vocabulary: "Ġthe", "▁the", "##ing", "<0x0A>".
  std::optional<std::string> spelling(std::int64_t id) const;
  /// Returns the bytes that a token stands for in a text, not always valid UTF-8: " the", "\n".
  /// WordPiece's "##" is kept, because nothing else shows that the token continues a word.
  std::optional<std::string> bytes(std::int64_t id) const;
  /// Returns token_text() of bytes(); "<no token 50300>" for an id without a token.
  std::string text(std::int64_t id, Spaces spaces = Spaces::kept) const;
  /// Returns the id of a token by its spelling.
  std::optional<std::int64_t> id(std::string_view spelling) const;

  /// Returns the number of tokens, including those added after training.
  std::int64_t count() const;
  const SpecialTokens& special_tokens() const { return special_tokens_; }
  /// Returns the file that the tokenizer was read from.
  const std::string& file() const { return file_; }

 private:
  struct Handle;
  Tokenizer(std::unique_ptr<Handle> handle, std::string file);

  std::unique_ptr<Handle> handle_;
  std::string file_;
  SpecialTokens special_tokens_;
  bool gives_types_ = true;  // false: the model is run without token types
};

// The memory limit of tokenizers.

/// Sets the approximate memory limit for encoding or decoding, because the steps of a
/// tokenizer.json can make a text longer. Up to eight times the length of a text is always allowed.
/// Applies to the whole process; 4 GiB before the first call.
void limit_tokenizer_memory(std::uint64_t bytes);

}  // namespace attnscope
