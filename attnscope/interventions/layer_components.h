// Components of one layer: their outputs on some texts, and runs that continue from this layer with
// some outputs replaced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/forward/forward_pass.h"

namespace attnscope {

/// Kinds of components. `head`: the head's input of the output projection. `attention`: the same
/// for all heads, so that the bias of the projection stays. `mixer`: the output of the layer's
/// other mixer, including its bias. `mlp`: the output of the MLP, including all experts.
enum class LayerPart { head, attention, mixer, mlp };

struct PartOfLayer {
  LayerPart part = LayerPart::head;
  std::optional<std::int64_t> head;
};

/// A layer of a forward pass: of the model itself, of its encoder, or the cross-attention of a
/// layer.
struct LayerInStack {
  enum class Of { model, encoder, cross };

  std::int64_t layer = 0;
  Of of = Of::model;
};

struct AskedParts {
  bool heads = true, attention = true, mixer = true, mlp = true;
};
/// Returns the requested components that the layer has, in the order attention, mixer, MLP, heads.
std::vector<PartOfLayer> parts_of_layer(const ForwardPass& pass, const LayerInStack& layer_in_stack,
                                        const AskedParts& asked);

/// Returns the heads of the layer, or of its cross-attention. Requires a layer with heads.
HeadShape heads_of(const ForwardPass& pass, const LayerInStack& layer_in_stack);

/// Some of the texts, which run together. Their rows start at `first_row`.
struct TextChunk {
  std::size_t first = 0;  // index of the first text
  std::vector<TokenIds> texts;
  std::vector<TokenIds> sources = {};  // decoders only: the encoder's tokens for each text
  std::int64_t first_row = 0, rows = 0;
  /// Rows of the layer's outputs: the rows of the sources for an encoder layer, else the same as
  /// above.
  std::int64_t first_part_row = 0, part_rows = 0;
  EncoderOutput encoder_output = {};  // output for the sources, if the layer is the decoder's
};

class LayerParts {
 public:
  /// Runs the texts up to this layer. `sources`: the encoder's tokens for each text, for decoders
  /// only. All arguments must outlive this object. Throws like ForwardPass::run().
  LayerParts(const ForwardPass& pass, const LayerInStack& layer_in_stack,
             std::span<const TokenIds> texts, std::span<const TokenIds> sources,
             const Compute& compute);

  const std::vector<TextChunk>& chunks() const { return chunks_; }
  std::int64_t rows() const;  // rows of the layer's outputs on all texts

  /// Inputs of the output projection, (rows, H d_v), and outputs of the mixer and the MLP, (rows,
  /// D). Those that the layer does not have are empty.
  const Matrix<float>& heads() const { return heads_; }
  const Matrix<float>& mixer() const { return mixer_; }
  const Matrix<float>& mlp() const { return mlp_; }
  /// Returns the outputs of a component: the matrix that contains them, and its columns.
  struct Columns {
    const Matrix<float>* all;
    std::int64_t first, count;
  };
  Columns columns(const PartOfLayer& part) const;

  /// Runs a chunk unmodified and returns its last states, (rows, E). The observer sees the stack of
  /// the layer.
  Matrix<float> run(const TextChunk& chunk, const ForwardObserver& observer) const;

  /// Writes the replacement of a component on the chunk: (part_rows of the chunk, columns of the
  /// component).
  using Replace = std::function<void(const PartOfLayer& part, MatrixView<float> out)>;
  /// Runs the chunk once per component, with this component replaced. Calls visit(index of the
  /// component, its last states) in order. Several runs share a batch.
  void run_replaced(const TextChunk& chunk, std::span<const PartOfLayer> parts,
                    const Replace& replace,
                    const std::function<void(std::size_t, MatrixView<const float>)>& visit) const;

  /// Changes the inputs of a layer's output projection in one run of a chunk: (part_rows of the
  /// chunk, H d_v).
  using ChangeHeads =
      std::function<void(std::size_t run, std::int64_t layer, MatrixView<float> heads)>;
  /// Runs the chunk `runs` times, with heads of this layer and of later ones changed. Calls
  /// visit(run, its last states) in order. Several runs share a batch.
  void run_changed(const TextChunk& chunk, std::size_t runs, const ChangeHeads& change,
                   const std::function<void(std::size_t, MatrixView<const float>)>& visit) const;

 private:
  void cut(std::span<const TokenIds> texts, std::span<const TokenIds> sources);
  void keep(TextChunk& chunk);
  Matrix<float> run_with(const TextChunk& chunk, std::int64_t copies, MatrixView<const float> heads,
                         ForwardObserver observer) const;
  /// Number of runs of a chunk that share a batch.
  std::size_t runs_at_once(const TextChunk& chunk) const;
  bool is_of(LayerInStack::Of stack) const { return place_.of == stack; }

  const ForwardPass& pass_;
  const ForwardPass& layers_;  // the pass with the layer: that pass, or its encoder's
  LayerInStack place_;
  const Compute& compute_;
  std::vector<TextChunk> chunks_;
  /// Outputs of the layer, all rows. For cross-attention, `heads_` is that of the cross-attention
  /// and `own_heads_` that of the self-attention.
  Matrix<float> stream_, heads_, own_heads_, mixer_, mlp_;
};

}  // namespace attnscope
