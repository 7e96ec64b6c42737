#include "attnscope/forward/patch_weights.h"

#include <algorithm>

#include "attnscope/core/text.h"

namespace attnscope {
namespace {

void add_to(float* row, const float* other, std::int64_t cols) {
  for (std::int64_t col = 0; col < cols; ++col) row[col] += other[col];
}

}  // namespace

PatchWeights read_patch_weights(const TensorReader& reader, const PatchSpec& spec) {
  const Model& model = reader.model();
  const std::int64_t width = model.dimensions().width;
  const PatchRule& rule = spec.rule;
  const auto site = [&](const std::string& name) -> const CheckpointTensor& {
    return reader.need(model.find(model.prefix() + name));
  };
  PatchWeights out;
  const std::string name = model.prefix() + rule.projection;
  const Shape shape{width, spec.channels, spec.size, spec.size};
  const CheckpointTensor& taps = reader.need(model.find(name, shape));
  out.projection = reader.make_linear({reader.rows_of(taps)}, reader.bias_of(name, width),
                                      /*copied=*/false);

  const auto tokens = static_cast<std::int64_t>(rule.tokens.size());
  out.before = Matrix<float>(tokens + spec.registers, width);
  std::int64_t row = 0;
  for (const std::string& token : rule.tokens) {
    const Matrix<float> own = reader.rows_of_width(site(token), width);
    if (own.rows() != 1) reader.refuse("'" + token + "' is not one row", std::nullopt);
    std::copy_n(own.data(), width, &out.before(row++, 0));
  }
  if (spec.registers > 0) {
    const Matrix<float> own = reader.rows_of_width(site(rule.registers), width);
    if (own.rows() != spec.registers) {
      reader.refuse("'" + rule.registers + "' has not the " + std::to_string(spec.registers) +
                        " rows that " + model.spec().source + " demands",
                    std::nullopt);
    }
    std::copy_n(own.data(), spec.registers * width, &out.before(row, 0));
  }
  if (rule.positions.empty()) return out;

  const std::int64_t side = spec.image_size / spec.size, patches = side * side;
  const Matrix<float> all = reader.rows_of_width(site(rule.positions), width);
  if (all.rows() != tokens + patches) {
    reader.refuse("'" + rule.positions + "' has " + std::to_string(all.rows()) +
                      " rows, and not the " + std::to_string(tokens + patches) + " that " +
                      model.spec().source + " demands",
                  std::nullopt);
  }
  for (row = 0; row < tokens; ++row) add_to(&out.before(row, 0), &all(row, 0), width);
  out.positions = Matrix<float>(patches, width);
  std::copy_n(&all(tokens, 0), patches * width, out.positions.data());
  return out;
}

}  // namespace attnscope
