#include "attnscope/inputs/text/sentence_piece_model.h"

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/base/text_encoding.h"
#include "attnscope/checkpoint/protobuf.h"

namespace attnscope {
namespace {

constexpr std::size_t kMaxPieces = 4'000'000;

Piece read_piece(std::span<const std::byte> message, const FileLocation& where) {
  Piece piece;
  ProtobufReader in(message, where);
  while (const auto field = in.next()) {
    if (field->number == 1) piece.text = field->text();
    if (field->number == 2) piece.score = field->real();
    if (field->number == 3) piece.type = field->integer();
  }
  if (first_broken_utf8(piece.text)) refuse(where, "a piece is not UTF-8");
  return piece;
}

}  // namespace

SentencePieceModel read_sentence_piece_model(std::span<const std::byte> bytes,
                                             const FileLocation& where) {
  SentencePieceModel model;
  ProtobufReader in(bytes, where);
  while (const auto field = in.next()) {
    if (field->number == 1) {
      if (model.pieces.size() == kMaxPieces) refuse(where, "has more than 4000000 pieces");
      model.pieces.push_back(read_piece(field->bytes, where));
    } else if (field->number == 2 || field->number == 3) {
      ProtobufReader nested(field->bytes, where);
      while (const auto value = nested.next()) {
        if (field->number == 2 && value->number == 3) model.model_type = value->integer();
        if (field->number == 3 && value->number == 2) model.charsmap = value->text();
      }
    }
  }
  if (model.pieces.empty()) refuse(where, "is not a SentencePiece model: it has no pieces");
  if (model.model_type != unigram && model.model_type != pairs) {
    throw Error(ErrorKind::unsupported,
                {.file = where.file,
                 .problem = "is a SentencePiece model of words or characters, expected unigram or "
                            "BPE"});
  }
  return model;
}

}  // namespace attnscope
