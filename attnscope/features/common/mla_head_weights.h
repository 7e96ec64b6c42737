// Circuits of MLA layers, and their parts: NoPE, RoPE, and products of the latents' own matrices.
// Definitions: docs/metrics.md, "Latents".
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "attnscope/features/common/circuit_weights.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// Like load_circuit(), for a product of parts. `narrowed`: see load_mla_circuit(). `rms`: RMS of
/// the latents on a text; empty: for white input.
LoadedCircuit load_mla_product(const Model& model, std::int64_t layer, Role role,
                               const std::optional<LatentRms>& rms, bool narrowed,
                               const Compute& compute = {});

/// Number of rows and columns of such a product, in residual stream or latent dimensions.
std::pair<std::int64_t, std::int64_t> mla_product_shape(const Dimensions& dimensions, Role role);

// Circuits of MLA layers.

/// Like load_circuit(), for an MLA model. If the circuit is summed over heads, the latents are its
/// inner dimension. `narrowed`: expresses the rows of each factor in an orthonormal basis of their
/// span, which preserves the singular values of the product.
LoadedCircuit load_mla_circuit(const Model& model, std::int64_t layer, Role circuit,
                               const CircuitVariant& variant, bool narrowed,
                               const Compute& compute = {});

}  // namespace attnscope
