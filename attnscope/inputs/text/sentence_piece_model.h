// The contents of a SentencePiece model file. Source: google/sentencepiece,
// src/sentencepiece_model.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnscope/checkpoint/byte_reader.h"

namespace attnscope {

enum PieceType { normal = 1, unknown = 2, control = 3, user_defined = 4 };
enum ModelType { unigram = 1, pairs = 2 };

struct Piece {
  std::string text;
  float score = 0;
  std::int64_t type = normal;
};

struct SentencePieceModel {
  std::vector<Piece> pieces;  // by id
  std::int64_t model_type = unigram;
  std::string charsmap;  // the compiled rules that normalize characters; empty: none
};

/// Throws Error(format) for a file that is damaged or has no pieces, and Error(unsupported) for
/// models of words or characters.
SentencePieceModel read_sentence_piece_model(std::span<const std::byte> bytes,
                                             const FileLocation& where);

}  // namespace attnscope
