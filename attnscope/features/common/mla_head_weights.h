// Parts of the circuits of layers with latents: what the rotation leaves alone, what turns, and
// both as the latents' own matrices have them. Definitions: docs/metrics.md, "Latents".
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "attnscope/features/common/circuit_weights.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// What load_circuit() gives, for a product of parts. `narrowed`: as load_mla_circuit() has it.
/// `rms`: of latents on a text; none: on white input.
LoadedCircuit load_mla_product(const Model& model, std::int64_t layer, Role role,
                               const std::optional<LatentRms>& rms, bool narrowed,
                               const Compute& compute = {});

/// Rows and columns of such a product: of the stream, or of the latents.
std::pair<std::int64_t, std::int64_t> mla_product_shape(const Dimensions& dimensions, Role role);

// Circuits of layers with latents.

/// What load_circuit() gives for a model with latents. Where the circuit is summed over heads, the
/// latents are its inner dimension. `narrowed`: factors are in coordinates of what they span, those
/// of the left and of the right factor apart, which keeps the product's singular values.
LoadedCircuit load_mla_circuit(const Model& model, std::int64_t layer, Role circuit,
                               const CircuitVariant& variant, bool narrowed,
                               const Compute& compute = {});

}  // namespace attnscope
