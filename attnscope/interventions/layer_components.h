// The parts of one layer: what they give on some texts, and runs that go on from there with
// something else in the place of some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Of a head, what it gives to the output projection; of the attention, that of all heads, so that
/// the projection's bias stays; of the MLP, what it gives, experts and all.
enum class LayerPart { head, attention, mlp };

struct PartOfLayer {
  LayerPart part = LayerPart::head;
  std::optional<std::int64_t> head;
};

/// A layer of a pass: its own, of its encoder, or what its own has of attention to that encoder.
struct LayerInStack {
  enum class Of { model, encoder, cross };

  std::int64_t layer = 0;
  Of of = Of::model;
};

struct AskedParts {
  bool heads = true, attention = true, mlp = true;
};
/// Attention, MLP, then heads: those that are asked for and there are.
std::vector<PartOfLayer> parts_of_layer(const ForwardPass& pass, const LayerInStack& layer_in_stack,
                                        const AskedParts& asked);

/// Some of the texts, which run together: their rows are those from `first_row` on.
struct TextChunk {
  std::size_t first = 0;  // text
  std::vector<TokenIds> texts;
  std::vector<TokenIds> sources = {};  // of a decoder: what its encoder reads for each text
  std::int64_t first_row = 0, rows = 0;
  /// Those of what the layer gives: of an encoder's layer those of the sources, else the same.
  std::int64_t first_part_row = 0, part_rows = 0;
  EncoderOutput encoder_output = {};  // of the sources, where the layer is the decoder's
};

class LayerParts {
 public:
  /// Runs the texts as far as the layer. `sources`: of a decoder, what its encoder reads for each
  /// text; else none. What is given must outlive it. Throws as ForwardPass::run().
  LayerParts(const ForwardPass& pass, const LayerInStack& layer_in_stack,
             std::span<const TokenIds> texts, std::span<const TokenIds> sources,
             const Compute& compute);

  const std::vector<TextChunk>& chunks() const { return chunks_; }
  std::int64_t rows() const { return heads_.rows(); }  // of what the layer gives on all texts

  /// What heads give to the output projection, (rows, H d_v), and what the MLP gives, (rows, D),
  /// which has no rows where there is none.
  const Matrix<float>& heads() const { return heads_; }
  const Matrix<float>& mlp() const { return mlp_; }
  /// Those of a part: the matrix that has them, and which of its columns.
  struct Columns {
    const Matrix<float>* all;
    std::int64_t first, count;
  };
  Columns columns(const PartOfLayer& part) const;

  /// The last states of a chunk as it is: (rows, E). The observer sees the stack of the layer.
  Matrix<float> run(const TextChunk& chunk, const ForwardObserver& observer) const;

  /// Puts what takes the place of a part of the chunk: (its part_rows, columns of the part).
  using Replace = std::function<void(const PartOfLayer& part, MatrixView<float> out)>;
  /// The same with parts replaced, each alone. visit(part's number, its last states), in order;
  /// several run beside each other.
  void run_replaced(const TextChunk& chunk, std::span<const PartOfLayer> parts,
                    const Replace& replace,
                    const std::function<void(std::size_t, MatrixView<const float>)>& visit) const;

 private:
  void cut(std::span<const TokenIds> texts, std::span<const TokenIds> sources);
  void keep(TextChunk& chunk);
  Matrix<float> run_with(const TextChunk& chunk, std::int64_t copies, MatrixView<const float> heads,
                         ForwardObserver observer) const;
  bool is_of(LayerInStack::Of stack) const { return place_.of == stack; }

  const ForwardPass& pass_;
  const ForwardPass& layers_;  // of which the layer is one: that pass, or its encoder's
  LayerInStack place_;
  const Compute& compute_;
  std::vector<TextChunk> chunks_;
  /// Of the layer, all rows. Where its cross attention is meant, `heads_` are of that, and
  /// `own_heads_` of its own.
  Matrix<float> stream_, heads_, own_heads_, mlp_;
};

}  // namespace attnscope
