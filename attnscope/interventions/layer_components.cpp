#include "attnscope/interventions/layer_components.h"

#include <algorithm>
#include <utility>

#include "attnscope/forward/layers_elsewhere.h"
#include "attnscope/forward/logits.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {
namespace {

/// Returns the layer's outputs on the chunk. No data if the layer does not have them.
MatrixView<const float> rows_of(const Matrix<float>& all, const TextChunk& chunk) {
  if (all.rows() == 0) return {};
  return all.view().row_block(chunk.first_part_row, chunk.part_rows);
}

/// Returns `copies` copies of the rows, stacked. Empty without data.
Matrix<float> repeated(MatrixView<const float> rows, std::int64_t copies) {
  if (rows.data == nullptr) return {};
  Matrix<float> out(copies * rows.rows, rows.cols);
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    copy_into(out.view().row_block(copy * rows.rows, rows.rows), rows);
  }
  return out;
}

template <class T>
std::vector<T> repeated(const std::vector<T>& all, std::int64_t copies) {
  std::vector<T> out;
  for (std::int64_t copy = 0; copy < copies; ++copy) out.insert(out.end(), all.begin(), all.end());
  return out;
}

std::vector<std::int64_t> lengths_of(const std::vector<TokenIds>& texts) {
  std::vector<std::int64_t> out;
  for (const TokenIds& text : texts) out.push_back(std::ssize(text));
  return out;
}

const ForwardPass& layers_of(const ForwardPass& pass, const LayerInStack& layer_in_stack) {
  return layer_in_stack.of == LayerInStack::Of::encoder ? *pass.encoder() : pass;
}

const LayerWeights& weights_of(const ForwardPass& pass, const LayerInStack& layer_in_stack) {
  return layers_of(pass, layer_in_stack)
      .weights()
      .layers[static_cast<std::size_t>(layer_in_stack.layer)];
}

/// Whether the component is replaced where its branch ends, not before the output projection.
bool is_whole_output(const PartOfLayer& part) {
  return part.part == LayerPart::mixer || part.part == LayerPart::mlp;
}

}  // namespace

HeadShape heads_of(const ForwardPass& pass, const LayerInStack& layer_in_stack) {
  if (layer_in_stack.of == LayerInStack::Of::cross)
    return weights_of(pass, layer_in_stack).cross->heads;
  return layers_of(pass, layer_in_stack).model().spec().dimensions_of(layer_in_stack.layer).heads;
}

std::vector<PartOfLayer> parts_of_layer(const ForwardPass& pass, const LayerInStack& layer_in_stack,
                                        const AskedParts& asked) {
  const LayerWeights& weights = weights_of(pass, layer_in_stack);
  const bool across = layer_in_stack.of == LayerInStack::Of::cross;
  const bool attends = across || weights.output != nullptr;
  const std::int64_t heads = attends ? heads_of(pass, layer_in_stack).heads : 0;
  std::vector<PartOfLayer> out;
  if (asked.attention && attends) out.push_back({.part = LayerPart::attention, .head = {}});
  if (asked.mixer && !across && weights.mixer != nullptr) {
    out.push_back({.part = LayerPart::mixer, .head = {}});
  }
  if (asked.mlp && !across && (weights.up != nullptr || weights.experts)) {
    out.push_back({.part = LayerPart::mlp, .head = {}});
  }
  for (std::int64_t head = 0; asked.heads && head < heads; ++head) {
    out.push_back({.part = LayerPart::head, .head = head});
  }
  return out;
}

LayerParts::LayerParts(const ForwardPass& pass, const LayerInStack& layer_in_stack,
                       std::span<const TokenIds> texts, std::span<const TokenIds> sources,
                       const Compute& compute)
    : pass_(pass),
      layers_(layers_of(pass, layer_in_stack)),
      place_(layer_in_stack),
      compute_(compute) {
  cut(texts, sources);
  for (TextChunk& chunk : chunks_) keep(chunk);
}

void LayerParts::cut(std::span<const TokenIds> texts, std::span<const TokenIds> sources) {
  const std::int64_t most = std::min(rows_at_once(pass_.model()), rows_of_logits(pass_));
  TextChunk chunk;
  std::int64_t of_sources = 0;
  const auto end = [&] {
    chunk.part_rows = is_of(LayerInStack::Of::encoder) ? of_sources : chunk.rows;
    TextChunk next{.first = chunk.first + chunk.texts.size(), .texts = {}};
    next.first_row = chunk.first_row + chunk.rows;
    next.first_part_row = chunk.first_part_row + chunk.part_rows;
    chunks_.push_back(std::exchange(chunk, std::move(next)));
    of_sources = 0;
  };
  for (std::size_t at = 0; at < texts.size(); ++at) {
    const std::int64_t own = std::ssize(texts[at]);
    const std::int64_t source = sources.empty() ? 0 : std::ssize(sources[at]);
    const bool full = chunk.rows + own > most || of_sources + source > rows_at_once(pass_.model());
    if (chunk.rows > 0 && full) end();
    chunk.texts.push_back(texts[at]);
    chunk.rows += own;
    if (!sources.empty()) chunk.sources.push_back(sources[at]);
    of_sources += source;
  }
  end();
}

std::int64_t LayerParts::rows() const {
  const TextChunk& last = chunks_.back();
  return last.first_part_row + last.part_rows;
}

void LayerParts::keep(TextChunk& chunk) {
  const std::int64_t all = rows();
  const auto put = [&](Matrix<float>& into, MatrixView<const float> rows) {
    if (into.rows() == 0) into = Matrix<float>(all, rows.cols);
    copy_into(into.view().row_block(chunk.first_part_row, chunk.part_rows), rows);
  };
  const bool encodes = is_of(LayerInStack::Of::encoder), across = is_of(LayerInStack::Of::cross);
  ForwardObserver observer;
  observer.wants_stream =
      observer.wants_parts = [this](std::int64_t layer) { return layer == place_.layer; };
  observer.on_stream = [&](std::int64_t, MatrixView<const float> stream) { put(stream_, stream); };
  observer.on_heads = [&](std::int64_t, MatrixView<float> heads) {
    put(across ? own_heads_ : heads_, heads);
  };
  if (across) {
    observer.on_cross_heads = [&](std::int64_t, MatrixView<float> heads) { put(heads_, heads); };
  } else {
    observer.on_mixer = [&](std::int64_t, MatrixView<float> output) { put(mixer_, output); };
    observer.on_mlp = [&](std::int64_t, MatrixView<float> output) { put(mlp_, output); };
  }
  observer.end_after_layer = place_.layer;
  if (encodes) {
    layers_.run(chunk.sources, observer, compute_);
    return;
  }
  if (chunk.sources.empty()) {
    pass_.run(chunk.texts, observer, compute_);
    return;
  }
  chunk.encoder_output = pass_.encode(chunk.sources, {}, compute_);
  pass_.run(chunk.texts, observer, compute_, {}, &chunk.encoder_output);
}

LayerParts::Columns LayerParts::columns(const PartOfLayer& part) const {
  if (part.part == LayerPart::mixer) return {.all = &mixer_, .first = 0, .count = mixer_.cols()};
  if (part.part == LayerPart::mlp) return {.all = &mlp_, .first = 0, .count = mlp_.cols()};
  if (!part.head) return {.all = &heads_, .first = 0, .count = heads_.cols()};
  const std::int64_t size = heads_of(pass_, place_).value_dim;
  return {.all = &heads_, .first = *part.head * size, .count = size};
}

/// Continues from the layer with these head outputs. Runs `copies` of the chunk in one batch.
Matrix<float> LayerParts::run_with(const TextChunk& chunk, std::int64_t copies,
                                   MatrixView<const float> heads, ForwardObserver observer) const {
  const bool encodes = is_of(LayerInStack::Of::encoder), across = is_of(LayerInStack::Of::cross);
  const std::vector<TokenIds> inputs = repeated(encodes ? chunk.sources : chunk.texts, copies);
  const EncoderOutput* encoder_output =
      encodes || chunk.sources.empty() ? nullptr : &chunk.encoder_output;
  Matrix<float> states;
  if (layers_.may_start_between(/*remembers=*/encoder_output != nullptr)) {
    const Matrix<float> stream = repeated(rows_of(stream_, chunk), copies);
    PassStart start{.layer = place_.layer, .stream = stream.view(), .heads = heads};
    Matrix<float> own;
    if (across) {
      own = repeated(rows_of(own_heads_, chunk), copies);
      start.heads = own.view();
      start.cross_heads = heads;
    }
    states = layers_.run_from(start, inputs, observer, compute_, encoder_output);
  } else {
    auto& on_heads = across ? observer.on_cross_heads : observer.on_heads;
    on_heads = [&, of_others = on_heads](std::int64_t layer, MatrixView<float> given) {
      if (layer == place_.layer) {
        copy_into(given, heads);
      } else if (of_others) {
        of_others(layer, given);
      }
    };
    states = layers_.run(inputs, observer, compute_, {}, encoder_output);
  }
  if (!encodes) return states;
  const EncoderOutput replaced{.states = std::move(states),
                               .lengths = repeated(lengths_of(chunk.sources), copies)};
  return pass_.run(repeated(chunk.texts, copies), {}, compute_, {}, &replaced);
}

Matrix<float> LayerParts::run(const TextChunk& chunk, const ForwardObserver& observer) const {
  return run_with(chunk, 1, rows_of(heads_, chunk), observer);
}

std::size_t LayerParts::runs_at_once(const TextChunk& chunk) const {
  const std::int64_t rows = std::max(chunk.rows, chunk.part_rows);
  return static_cast<std::size_t>(std::max<std::int64_t>(1, rows_at_once(pass_.model()) / rows));
}

void LayerParts::run_replaced(
    const TextChunk& chunk, std::span<const PartOfLayer> parts, const Replace& replace,
    const std::function<void(std::size_t, MatrixView<const float>)>& visit) const {
  const std::size_t most = runs_at_once(chunk);
  const auto is_whole = [&](std::size_t at) { return is_whole_output(parts[at]); };
  for (std::size_t first = 0; first < parts.size();) {
    std::size_t end = first + 1;  // a mixer or an MLP is replaced in a run of its own
    while (!is_whole(first) && end < parts.size() && end - first < most && !is_whole(end)) ++end;
    const auto copies = static_cast<std::int64_t>(end - first);
    Matrix<float> heads = repeated(rows_of(heads_, chunk), copies);
    ForwardObserver observer;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const PartOfLayer& part = parts[first + static_cast<std::size_t>(copy)];
      if (is_whole_output(part)) {
        (part.part == LayerPart::mlp ? observer.on_mlp : observer.on_mixer) =
            [&](std::int64_t layer, MatrixView<float> output) {
              if (layer == place_.layer) replace(part, output);
            };
        continue;
      }
      const Columns columns = this->columns(part);
      const MatrixView<float> own = heads.view().row_block(copy * chunk.part_rows, chunk.part_rows);
      replace(part, own.col_block(columns.first, columns.count));
    }
    const Matrix<float> states = run_with(chunk, copies, heads.view(), observer);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      visit(first + static_cast<std::size_t>(copy),
            states.view().row_block(copy * chunk.rows, chunk.rows));
    }
    first = end;
  }
}

void LayerParts::run_changed(
    const TextChunk& chunk, std::size_t runs, const ChangeHeads& change,
    const std::function<void(std::size_t, MatrixView<const float>)>& visit) const {
  const std::size_t most = runs_at_once(chunk);
  for (std::size_t first = 0; first < runs; first += most) {
    const auto copies = static_cast<std::int64_t>(std::min(most, runs - first));
    const auto change_all = [&](std::int64_t layer, MatrixView<float> heads) {
      for (std::int64_t copy = 0; copy < copies; ++copy) {
        change(first + static_cast<std::size_t>(copy), layer,
               heads.row_block(copy * chunk.part_rows, chunk.part_rows));
      }
    };
    Matrix<float> heads = repeated(rows_of(heads_, chunk), copies);
    change_all(place_.layer, heads.view());
    ForwardObserver observer;
    (is_of(LayerInStack::Of::cross) ? observer.on_cross_heads : observer.on_heads) =
        [&](std::int64_t layer, MatrixView<float> later) {
          if (layer > place_.layer) change_all(layer, later);
        };
    const Matrix<float> states = run_with(chunk, copies, heads.view(), observer);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      visit(first + static_cast<std::size_t>(copy),
            states.view().row_block(copy * chunk.rows, chunk.rows));
    }
  }
}

}  // namespace attnscope
