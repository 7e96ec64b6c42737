#include "attnscope/interventions/patched_parts.h"

#include <algorithm>

#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {

std::vector<PatchedPart> patched_parts(const ForwardPass& pass, std::int64_t layer,
                                       std::span<const PatchedKind> kinds) {
  const ModelSpec& spec = pass.model().spec();
  const LayerWeights& weights = pass.weights().layers[static_cast<std::size_t>(layer)];
  const bool attends = weights.output != nullptr;
  const bool has_keys = attends && !spec.sharing_of(layer).from;
  std::vector<PatchedPart> out;
  const auto add_heads = [&](PatchedKind kind, std::int64_t count) {
    for (std::int64_t head = 0; head < count; ++head) out.push_back({.kind = kind, .head = head});
  };
  for (const PatchedKind kind : kinds) {
    bool whole = false;
    switch (kind) {
      // With several streams, no single one enters the layer.
      case PatchedKind::resid_pre: whole = !spec.stream.altup; break;
      case PatchedKind::attention: whole = attends; break;
      case PatchedKind::mixer: whole = weights.mixer != nullptr; break;
      case PatchedKind::mlp: whole = weights.up != nullptr || weights.experts; break;
      case PatchedKind::head:
      case PatchedKind::q:
        if (attends) add_heads(kind, spec.dimensions_of(layer).heads.heads);
        break;
      case PatchedKind::k:
      case PatchedKind::v:
        if (has_keys) add_heads(kind, spec.dimensions_of(layer).heads.kv_heads);
        break;
    }
    if (whole) out.push_back({.kind = kind});
  }
  return out;
}

ActivationMatrix hooked_matrix(HookPoint point) {
  switch (point) {
    case HookPoint::resid_pre: return &LayerActivations::stream;
    case HookPoint::q: return &LayerActivations::q;
    case HookPoint::k: return &LayerActivations::k;
    case HookPoint::v: return &LayerActivations::v;
    default: return nullptr;
  }
}

Matrix<float> run_keeping(const ForwardPass& pass, std::span<const TokenIds> texts,
                          std::span<const PatchedPart> parts, LayerActivations& kept,
                          const Compute& compute, std::span<KeyValueCache> caches) {
  const std::int64_t layer = kept.layer;
  const auto patches = [&](ActivationMatrix matrix) {
    return std::ranges::any_of(parts, [&](const PatchedPart& part) {
      return columns_of(pass, layer, part).matrix == matrix;
    });
  };
  const auto keeper = [&kept](ActivationMatrix matrix) {
    return [&kept, matrix](std::int64_t, MatrixView<float> rows) { kept.*matrix = copied(rows); };
  };
  ForwardObserver observer;
  observer.wants_stream = [layer](std::int64_t index) {
    return index == layer || index == layer + 1;
  };
  observer.on_stream = [&](std::int64_t index, MatrixView<const float> rows) {
    (index == layer ? kept.stream : kept.next_stream) = copied(rows);
  };
  observer.wants_parts = [layer](std::int64_t of) { return of == layer; };
  observer.on_heads = keeper(&LayerActivations::heads);
  if (patches(&LayerActivations::mixer)) observer.on_mixer = keeper(&LayerActivations::mixer);
  if (patches(&LayerActivations::mlp)) observer.on_mlp = keeper(&LayerActivations::mlp);
  ActivationHooks hooks(
      [&](ActivationMatrix matrix, std::int64_t of) {
        return of == layer && matrix != &LayerActivations::stream && patches(matrix);
      },
      [&](ActivationMatrix matrix, std::int64_t, MatrixView<float> rows) {
        kept.*matrix = copied(rows);
      });
  observer.hooks = &hooks;
  return pass.run(texts, observer, compute, caches);
}

PatchedColumns columns_of(const ForwardPass& pass, std::int64_t layer, const PatchedPart& part) {
  const Dimensions dimensions = pass.model().spec().dimensions_of(layer);
  const HeadShape& heads = dimensions.heads;
  const std::int64_t head = part.head.value_or(0);
  const std::int64_t size = heads.head_dim, value_size = heads.value_dim;
  switch (part.kind) {
    case PatchedKind::resid_pre: return {&LayerActivations::stream, 0, dimensions.width};
    case PatchedKind::mixer: return {&LayerActivations::mixer, 0, dimensions.width};
    case PatchedKind::mlp: return {&LayerActivations::mlp, 0, dimensions.width};
    case PatchedKind::attention: return {&LayerActivations::heads, 0, heads.heads * value_size};
    case PatchedKind::head: return {&LayerActivations::heads, head * value_size, value_size};
    case PatchedKind::q: return {&LayerActivations::q, head * size, size};
    case PatchedKind::k: return {&LayerActivations::k, head * size, size};
    default: return {&LayerActivations::v, head * value_size, value_size};
  }
}

bool stays_at_token(PatchedKind kind) {
  return kind != PatchedKind::resid_pre && kind != PatchedKind::k && kind != PatchedKind::v;
}

}  // namespace attnscope
