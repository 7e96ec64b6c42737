// Reads the settings of Gemma 3n's layers from config.json: AltUp, LAuReL, sparse gates.
#pragma once

#include "attnscope/model/config/config_reader.h"
#include "attnscope/model/model_spec.h"

namespace attnscope {

/// Sets the AltUp streams, LAuReL and the gate cutoffs of a spec whose layers are set. Throws
/// Error(format) for values out of range.
void read_altup(ModelSpec& spec, const ConfigReader& config);

}  // namespace attnscope
