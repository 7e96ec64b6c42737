// What Gemma 4 gives every layer of each token beside the stream, as data.
#pragma once

#include <cstdint>
#include <string>

#include "attnscope/model/config_keys.h"

namespace attnscope {

/// Every layer has a vector p of P numbers for each token. After its MLP the stream x becomes
/// x + norm(up (activation(gate x) * p)), where p = (projection_norm(projection x0 / √D) +
/// √P · table row of the token) / √2 and x0 is the embedding. The outputs of `projection` and the
/// columns of `table` are those of layer 0, of layer 1, … Names are under the prefix.
struct PerLayerInputRule {
  ConfigKey width = {};         // P; 0 or no value: layers have none
  std::string table;            // (V, L P)
  std::string projection;       // (L P, D)
  std::string projection_norm;  // of P
  std::string gate, up;         // patterns: (P, D), (D, P)
  std::string norm;             // pattern, of D
};

}  // namespace attnscope
