#include "attnscope/features/lens/tuned_lens.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/checkpoint/checkpoint.h"
#include "attnscope/numerics/inference/linear.h"
#include "attnscope/numerics/vector_loops.h"
#include "attnscope/tensor/decode.h"
#include "attnscope/tensor/tensor_matrix.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr const char *kConfig = "config.json", *kWeights = "params.pt";
constexpr std::uint64_t kConfigLimitBytes = 1 << 20;

}  // namespace

TunedLens::~TunedLens() = default;
TunedLens::TunedLens(TunedLens&&) noexcept = default;

void TunedLens::refuse(const std::string& problem) const {
  throw Error(ErrorKind::format,
              {.file = folder_.string(),
               .problem = problem,
               .hint = "expected a folder that tuned-lens has saved, with config.json and "
                       "params.pt"});
}

TunedLens::TunedLens(const std::filesystem::path& folder) : folder_(folder) {
  const CheckpointFolder files(folder);
  for (const char* name : {kConfig, kWeights}) {
    if (!files.has(name)) refuse(std::string("it has no ") + name);
  }
  const json config =
      parse_python_json(files.read_text(kConfig, kConfigLimitBytes), files.place_of(kConfig));
  const auto size = [&](const char* key) {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_number_unsigned() ||
        found->get<std::uint64_t>() > std::uint64_t{kMaxSize} || *found == 0) {
      refuse(std::string("config.json has no valid '") + key + "'");
    }
    return found->get<std::int64_t>();
  };
  if (!config.is_object()) refuse("config.json is not a JSON object");
  width_ = size("d_model");
  layers_ = size("num_hidden_layers");
  if (const auto kind = config.find("lens_type");
      kind != config.end() && *kind != "linear_tuned_lens") {
    refuse(verbatim("its lens_type is " + kind->dump() + ", not \"linear_tuned_lens\""));
  }
  if (const auto bias = config.find("bias"); bias != config.end()) {
    if (!bias->is_boolean()) refuse("'bias' in config.json is neither true nor false");
    bias_ = bias->get<bool>();
  }
  checkpoint_ = std::make_unique<Checkpoint>(Checkpoint::open(folder / kWeights));
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    if (tensor(layer, "weight").view.shape != Shape{width_, width_} ||
        (bias_ && tensor(layer, "bias").view.shape != Shape{width_})) {
      refuse(fmt::format("the translator of layer {} does not have the width {}", layer, width_));
    }
  }
}

const CheckpointTensor& TunedLens::tensor(std::int64_t layer, const char* name) const {
  const CheckpointTensor* found = checkpoint_->find(fmt::format("{}.{}", layer, name));
  if (found == nullptr) refuse(fmt::format("params.pt has no tensor '{}.{}'", layer, name));
  if (const auto why = why_not_analyzed(*checkpoint_, *found)) {
    throw Error(ErrorKind::unsupported, checkpoint_->parts_of(*found, verbatim(*why)));
  }
  return *found;
}

void TunedLens::check_fits(const Model& model) const {
  const Dimensions& dimensions = model.dimensions();
  if (dimensions.width == width_ && dimensions.layers == layers_) return;
  throw Error(ErrorKind::usage,
              {.parameter = "tuned_lens",
               .problem = verbatim(fmt::format(
                   "{} is for {} layers of width {}, but {} has {} of width {}", folder_.string(),
                   layers_, width_, model.name(), dimensions.layers, dimensions.width))});
}

Matrix<float> TunedLens::translated(std::int64_t layer, MatrixView<const float> states,
                                    const Compute& compute) const {
  const CheckpointTensor& weight = tensor(layer, "weight");
  checkpoint_->need(weight);
  std::vector<float> bias;
  if (bias_) {
    const CheckpointTensor& stored = tensor(layer, "bias");
    checkpoint_->need(stored);
    bias.resize(static_cast<std::size_t>(width_));
    decode_elements(stored.view, 0, stored.view.stride(0), width_, bias.data());
    checkpoint_->check_intact(stored);
  }
  const LinearWeights translator({whole_matrix(weight.view)}, /*packed=*/false, compute);
  Matrix<float> out(states.rows, states.cols);
  apply_linear(states, translator, {.bias = bias, .add = states}, out.view(), compute);
  checkpoint_->check_intact(weight);
  const auto count = static_cast<std::size_t>(out.rows() * out.cols());
  if (!all_finite(std::span<const float>(out.data(), count))) {
    throw Error(ErrorKind::numerical,
                checkpoint_->parts_of(weight, "translated states are NaN or infinite"));
  }
  return out;
}

}  // namespace attnscope
