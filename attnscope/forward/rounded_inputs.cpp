// Inputs of matrices that are rounded to 8 bits, as in BitNet. Source: transformers, ActQuant and
// BitLinear of integrations/bitnet.py.
#include <algorithm>
#include <cmath>

#include "attnscope/forward/layer_run.h"
#include "attnscope/forward/matrix_buffers.h"

namespace attnscope {

MatrixView<const float> LayerRun::as_read(std::int64_t layer, MatrixView<const float> rows) {
  if (!spec_.layers[static_cast<std::size_t>(layer)].rounds_inputs) return rows;
  constexpr float kLeast = 1e-5F, kMost = 127, kLowest = -128;
  const MatrixView<float> out = sized(rounded_, rows.rows, rows.cols);
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    float largest = kLeast;
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      largest = std::max(largest, std::fabs(rows(row, col)));
    }
    const float scale = kMost / largest;
    for (std::int64_t col = 0; col < rows.cols; ++col) {
      out(row, col) = std::clamp(std::nearbyint(rows(row, col) * scale), kLowest, kMost) / scale;
    }
  }
  return out;
}

}  // namespace attnscope
