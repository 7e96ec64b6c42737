#include "attnscope/interventions/answer_logits.h"

#include "attnscope/forward/logits.h"

namespace attnscope {

std::vector<std::int64_t> last_rows(std::span<const TokenIds> texts) {
  std::vector<std::int64_t> rows;
  std::int64_t end = 0;
  for (const TokenIds& ids : texts) {
    end += std::ssize(ids);
    rows.push_back(end - 1);
  }
  return rows;
}

std::vector<double> logit_differences(const ForwardPass& pass, MatrixView<const float> states,
                                      std::span<const std::int64_t> right,
                                      std::span<const std::int64_t> wrong, const Compute& compute,
                                      bool capped) {
  std::vector<double> out;
  for_logits(
      pass, states,
      [&](std::int64_t first, MatrixView<const float> logits) {
        for (std::int64_t row = 0; row < logits.rows; ++row) {
          const auto prompt = static_cast<std::size_t>(first + row);
          out.push_back(static_cast<double>(logits(row, right[prompt])) -
                        static_cast<double>(logits(row, wrong[prompt])));
        }
      },
      compute, capped);
  return out;
}

}  // namespace attnscope
