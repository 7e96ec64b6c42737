// Activations of one layer that patching replaces: components, inputs of attention, and the
// residual stream.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attnscope/forward/forward_pass.h"
#include "attnscope/forward/hooks.h"

namespace attnscope {

/// Kinds of activations. `head`, `attention`, `mixer` and `mlp` as LayerPart. `resid_pre`: the
/// residual stream that enters the layer. `q`, `k`, `v`: queries, keys and values of one head,
/// before norms and rotation. Those of `k` and `v` are key/value heads.
enum class PatchedKind { resid_pre, attention, mixer, mlp, head, q, k, v };

struct PatchedPart {
  PatchedKind kind = PatchedKind::head;
  std::optional<std::int64_t> head = {};

  bool operator==(const PatchedPart&) const = default;
};

/// Returns the activations of these kinds that the layer has, in the order of the kinds.
std::vector<PatchedPart> patched_parts(const ForwardPass& pass, std::int64_t layer,
                                       std::span<const PatchedKind> kinds);

/// Activations of one layer on some texts, one row per token. Those that the layer does not have
/// are empty.
struct LayerActivations {
  std::int64_t layer = 0;
  Matrix<float> stream;       // (rows, D), before the layer
  Matrix<float> q, k, v;      // before norms and rotation: (rows, H d), (rows, G d), (rows, G d_v)
  Matrix<float> heads;        // input of the output projection, (rows, H d_v)
  Matrix<float> mixer, mlp;   // outputs, (rows, D)
  Matrix<float> next_stream;  // (rows, D), after the layer
};

using ActivationMatrix = Matrix<float> LayerActivations::*;

/// Returns the matrix of an activation that hooks see: resid_pre, q, k or v. Null for others.
ActivationMatrix hooked_matrix(HookPoint point);

/// Shows activations that have a hooked_matrix() to a function, which may modify them.
class ActivationHooks : public ForwardHooks {
 public:
  using Wants = std::function<bool(ActivationMatrix, std::int64_t layer)>;
  using Visit = std::function<void(ActivationMatrix, std::int64_t layer, MatrixView<float>)>;

  ActivationHooks(Wants wants, Visit visit) : wants_(std::move(wants)), visit_(std::move(visit)) {}

  bool wants(HookPoint point, std::int64_t layer) const override {
    const ActivationMatrix matrix = hooked_matrix(point);
    return matrix != nullptr && wants_(matrix, layer);
  }
  bool changes(HookPoint point, std::int64_t layer) const override { return wants(point, layer); }
  void visit(const HookedValues& values) override {
    visit_(hooked_matrix(values.point), values.layer, values.values);
  }

 private:
  Wants wants_;
  Visit visit_;
};

/// The columns of an activation in one of the matrices above.
struct PatchedColumns {
  ActivationMatrix matrix;
  std::int64_t first = 0, count = 0;
};
PatchedColumns columns_of(const ForwardPass& pass, std::int64_t layer, const PatchedPart& part);

/// Runs texts, and keeps activations of one layer: its head outputs, the streams before and after
/// it, and those of `parts`. Returns the last states. Throws like ForwardPass::run().
Matrix<float> run_keeping(const ForwardPass& pass, std::span<const TokenIds> texts,
                          std::span<const PatchedPart> parts, LayerActivations& kept,
                          const Compute& compute, std::span<KeyValueCache> caches = {});

/// Whether a change of the activation at one token changes the output of its layer only at this
/// token, given the model's other activations.
bool stays_at_token(PatchedKind kind);

}  // namespace attnscope
