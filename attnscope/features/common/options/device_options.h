// Parameters of commands that can run their forward passes in PyTorch, on a GPU for example. Only
// the command line has them: in Python, such a model is opened before.
#pragma once

#include "attnscope/features/common/options/shared_options.h"

namespace attnscope {

/// device. With `chooses_dtype`, also dtype: the element type of the weights on the device.
Parameters device_parameters(bool chooses_dtype = true);

/// Whether it is one of device_parameters(), and not another one with the same name.
bool is_of_device(const Parameter& parameter);

}  // namespace attnscope
