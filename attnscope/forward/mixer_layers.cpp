// Layers with a mixer, and blocks of attention and MLP that feed a mixer; see SharedBlockRule.
#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {
namespace {

void add_rows(MatrixView<const float> rows, MatrixView<float> to) {
  for (std::int64_t row = 0; row < to.rows; ++row) {
    for (std::int64_t col = 0; col < to.cols; ++col) to(row, col) += rows(row, col);
  }
}

}  // namespace

void LayerRun::mix_tokens(std::int64_t layer, MatrixView<const float> input) {
  const MixerWeights& mixer = *weights_.layers[static_cast<std::size_t>(layer)].mixer;
  const MatrixView<float> context =
      sized(mixer_context_, rows_.total, mixer.output->weights.inputs());
  mixers_.run(layer, mixer, input, context);
}

void LayerRun::add_mixer(std::int64_t layer, double branch_factor) {
  const MixerWeights& mixer = *weights_.layers[static_cast<std::size_t>(layer)].mixer;
  const MatrixView<float> stream = states_.view();
  const double factor = static_cast<double>(mixer.factor) * branch_factor;
  if (factor == 1 && !observer_.on_mixer && !hooks_.wants(HookPoint::mixer_out, layer)) {
    return apply(*mixer.output, mixer_context_.view(), {.add = stream}, stream, compute_);
  }
  const MatrixView<float> change = sized(change_, stream.rows, stream.cols);
  apply(*mixer.output, mixer_context_.view(), {}, change, compute_);
  if (observer_.on_mixer && observer_.sees_parts_of(layer)) observer_.on_mixer(layer, change);
  add_change(HookPoint::mixer_out, layer, factor);
}

MatrixView<const float> LayerRun::block_input(const LayerWeights& weights) {
  const MatrixView<float> stream = states_.view();
  const MatrixView<float> out = sized(joined_, stream.rows, 2 * stream.cols);
  copy_into(out.col_block(0, stream.cols), stream);
  copy_into(out.col_block(stream.cols, stream.cols), embedding_.view());
  apply_norm(*weights.attention_input, out, out, compute_);
  return out;
}

/// Adds the adapters of this use of the block to queries, keys and values.
void LayerRun::add_adapters(const SharedBlockWeights& block, MatrixView<const float> input,
                            MatrixView<float> qkv) {
  std::int64_t first = 0;
  for (const AdapterWeights& adapter : block.qkv) {
    const std::int64_t outputs = adapter.up->weights.outputs();
    const MatrixView<float> inner = sized(latents_, input.rows, adapter.down->weights.outputs());
    apply(*adapter.down, input, {}, inner, compute_);
    const MatrixView<float> own = qkv.col_block(first, outputs);
    apply(*adapter.up, inner, {.add = own}, own, compute_);
    first += outputs;
  }
}

MatrixView<const float> LayerRun::mixer_input(std::int64_t layer) {
  const LayerWeights& weights = weights_.layers[static_cast<std::size_t>(layer)];
  const SharedBlockWeights& block = *weights.block;
  const MatrixView<float> stream = states_.view();
  const MatrixView<float> out = sized(block_output_, stream.rows, stream.cols);
  apply(*weights.output, context_.view(), {}, out, compute_);
  if (result_change_.rows() > 0) add_rows(result_change_.view(), out);
  apply_norm(*weights.mlp_input, out, out, compute_);
  const MatrixView<float> of_mlp = sized(change_, stream.rows, stream.cols);
  mlp(layer, out, of_mlp, /*add=*/false);
  if (observer_.on_mlp && observer_.sees_parts_of(layer)) observer_.on_mlp(layer, of_mlp);
  apply(*block.projection, of_mlp, {.add = stream}, out, compute_);
  apply_norm(block.mixer_norm, out, out, compute_);
  return out;
}

}  // namespace attnscope
