// Values of edits in a .safetensors file: activations that `predict --save` wrote, or other arrays.
#pragma once

#include <string>
#include <vector>

#include "attnscope/interventions/edits_from_run.h"

namespace attnscope {

/// Returns the edits that take values from an array of a file, one per layer. An array with the
/// name of an activation ("z", or "z.1" of the second text) is that of a saved run, with its layers
/// as the first axis. Any other array has the axes of an EditValue. `array`: empty for the name of
/// the activation. Throws Error(format), and the errors of Checkpoint::open() and edit_from().
std::vector<ActivationEdit> edits_from_file(const RunEdit& wanted, const std::string& file,
                                            const std::string& array);

}  // namespace attnscope
