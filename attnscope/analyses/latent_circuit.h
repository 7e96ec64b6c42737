// Circuits of layers with latents.
#pragma once

#include <cstdint>

#include "attnscope/analyses/circuit_weights.h"
#include "attnscope/numerics/compute.h"

namespace attnscope {

/// What load_circuit() gives for a model with latents. Where the circuit is summed over heads, the
/// latents are its inner dimension. `narrowed`: factors are in coordinates of what they span, those
/// of the left and of the right factor apart, which keeps the product's singular values.
LoadedCircuit load_latent_circuit(const Model& model, std::int64_t layer, Role circuit,
                                  const CircuitVariant& variant, bool narrowed,
                                  const Compute& compute = {});

}  // namespace attnscope
