// Descriptions of the libraries that compute.
#pragma once

#include <string>

namespace attnscope {

/// The BLAS library's own description: name, version, kernels chosen for this CPU.
std::string blas_description();

}  // namespace attnscope
