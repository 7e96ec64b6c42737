// Model inputs: token ids, images and audio.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace attnscope {

/// An image of shape (channels, rows, columns), or audio: a waveform (samples) or features
/// (features, frames).
struct MediaInput {
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // row-major
};

// Maps the rows of a sequence to the patches of an image.

/// The sequence starts with rows that are not patches (class token, registers). The patches follow,
/// row by row.
struct PatchGrid {
  std::int64_t before = 0;
  std::int64_t rows = 0, cols = 0;  // number of patches

  std::int64_t patches() const { return rows * cols; }
  std::int64_t length() const { return before + patches(); }
  bool operator==(const PatchGrid&) const = default;
};

// A text as token ids.

/// The token ids of a text. A list of ids, so that code that ignores pairs of texts needs nothing
/// else; copies keep what belongs to each token.
struct TokenIds : std::vector<std::int64_t> {
  using vector::vector;
  TokenIds() = default;
  TokenIds(std::vector<std::int64_t> ids) : vector(std::move(ids)) {}

  /// Token type of each token, which selects its type embedding; empty: all 0.
  std::vector<std::int64_t> types = {};
  /// For a pair of texts: the text of each token, 0 or 1, and −1 for special tokens. Empty for a
  /// single text. Only measures read it.
  std::vector<std::int64_t> texts = {};
  /// For a chat: the role of the message that each token comes from, or "template"; an empty text
  /// if unknown. Empty for other inputs. Only measures read it.
  std::vector<std::string> roles = {};

  bool operator==(const TokenIds&) const = default;
};

}  // namespace attnscope
