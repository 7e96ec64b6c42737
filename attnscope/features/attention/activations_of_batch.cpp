#include "attnscope/features/attention/activations_of_batch.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "attnscope/base/role.h"
#include "attnscope/interventions/head_outputs.h"

namespace attnscope {
namespace {

/// Existing observers are called first.
template <class... Args, class Observer>
void add_observer(std::function<void(Args...)>& all, Observer observer) {
  all = [before = std::move(all), observer = std::move(observer)](Args... args) {
    if (before) before(args...);
    observer(args...);
  };
}

/// Maximum length of the list in a row; `outlier_count` counts all outlier dimensions.
constexpr std::size_t kListedOutliers = 16;

/// Stored instead of the ratio of a sequence without a scored query.
constexpr double kNoRatio = -1;

}  // namespace

bool ActivationsOfBatch::wants(std::int64_t layer) const {
  const std::vector<std::int64_t>& layers = item_.batch->layers;
  return std::binary_search(layers.begin(), layers.end(), layer);
}

void ActivationsOfBatch::watch(const ForwardPass& pass, ForwardObserver& observer) {
  if (observer.end_after_maps_of) {
    observer.end_after_layer = observer.end_after_maps_of;
    observer.end_after_maps_of.reset();
  }
  add_observer(
      options_.across ? observer.on_cross_maps : observer.on_maps, [this](const LayerMaps& maps) {
        const auto maps_of_one = static_cast<std::size_t>(std::ssize(maps.maps) / maps.inputs());
        lengths_.clear();
        for (std::size_t map = 0; map < maps.maps.size();
             map += static_cast<std::size_t>(maps.heads)) {
          if (map % maps_of_one == 0) lengths_.push_back(0);
          lengths_.back() += maps.maps[map].rows;
        }
      });
  add_observer(options_.across ? observer.on_cross_heads : observer.on_heads,
               [this, &pass](std::int64_t layer, MatrixView<const float> heads) {
                 if (wants(layer)) add_heads(pass, layer, heads);
               });
  add_observer(observer.on_stream, [this](std::int64_t index, MatrixView<const float> stream) {
    if (!options_.across && index > 0 && wants(index - 1)) add_stream(index - 1, stream);
    if (wants(index)) stream_norms_ = row_norms(stream);
  });
  if (options_.across)
    return;  // the residual stream and the attention input belong to the decoder's own rows
  observer.wants_inputs = [this](std::int64_t layer, Role role) {
    return role == Role::query && wants(layer);
  };
  add_observer(observer.on_inputs, [this](std::int64_t layer, Role, MatrixView<const float> input) {
    std::vector<std::int64_t>& counts = layers_[layer].outliers;
    counts.assign(static_cast<std::size_t>(input.cols), 0);
    count_outliers(input, counts);
    layers_[layer].positions = input.rows;
  });
}

void ActivationsOfBatch::add_heads(const ForwardPass& pass, std::int64_t layer,
                                   MatrixView<const float> heads) {
  const Matrix<double> norms = head_output_norms(pass, layer, heads, options_.across, compute_);
  Matrix<double>& ratios = layers_[layer].output_ratios;
  ratios = Matrix<double>(std::ssize(lengths_), norms.rows());
  for (std::int64_t head = 0; head < norms.rows(); ++head) {
    std::int64_t row = 0;
    for (std::int64_t sequence = 0; sequence < ratios.rows(); ++sequence) {
      const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
      double sum = 0;
      const auto add = [&](std::int64_t position) {
        const double stream = stream_norms_[static_cast<std::size_t>(row + position)];
        if (stream > 0)
          sum += norms(head, row + position) / stream;  // a zero residual stream has no ratio
      };
      if (options_.queries) {
        for (const std::int64_t position : *options_.queries) add(position);
      } else {
        for (std::int64_t position = 0; position < length; ++position) add(position);
      }
      const auto count = options_.queries ? std::ssize(*options_.queries) : length;
      ratios(sequence, head) = count > 0 ? sum / static_cast<double>(count) : kNoRatio;
      row += length;
    }
  }
}

void ActivationsOfBatch::add_stream(std::int64_t layer, MatrixView<const float> stream) {
  std::vector<LargestActivation>& largest = layers_[layer].largest;
  std::vector<std::int64_t> lengths = lengths_;
  const auto rows = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  if (rows != stream.rows) {  // the layer ends with patch merging; images have equal lengths
    std::fill(lengths.begin(), lengths.end(), stream.rows / std::ssize(lengths));
  }
  largest.resize(lengths.size());
  std::vector<std::int64_t> first(lengths.size(), 0);
  for (std::size_t at = 1; at < first.size(); ++at) first[at] = first[at - 1] + lengths[at - 1];
  run_parts(compute_, lengths.size(), [&](std::size_t sequence) {
    largest[sequence] = largest_activation(stream.row_block(first[sequence], lengths[sequence]));
  });
}

void ActivationsOfBatch::add_to(std::vector<Outcome>& outcomes) const {
  std::optional<std::int64_t> done;
  for (Outcome& outcome : outcomes) {
    const auto found = layers_.find(expect<std::int64_t>(outcome.fields, "layer"));
    if (found == layers_.end() || found->first == done) continue;
    done = found->first;  // further outcomes of this layer are of other windows
    const Layer& layer = found->second;
    const Matrix<double>& ratios = layer.output_ratios;
    outcome.fields.add(
        "output_ratio",
        Array{{ratios.rows(), ratios.cols()},
              std::vector<double>(ratios.data(), ratios.data() + ratios.rows() * ratios.cols())});
    if (layer.largest.empty()) continue;
    std::vector<double> magnitudes, medians;
    std::vector<std::int64_t> dimensions, positions;
    for (const LargestActivation& each : layer.largest) {
      magnitudes.push_back(each.magnitude);
      medians.push_back(each.median);
      dimensions.push_back(each.dimension);
      positions.push_back(each.position);
    }
    outcome.fields.add("activation", std::move(magnitudes))
        .add("activation_median", std::move(medians))
        .add("activation_dimension", std::move(dimensions))
        .add("activation_position", std::move(positions))
        .add("positions", layer.positions)
        .add("outliers", layer.outliers);
  }
}

void ActivationSums::add(const Record& fields) {
  if (fields.find("output_ratio") == nullptr) return;
  const auto ratios = expect_matrix<double>(fields, "output_ratio");
  if (ratios.cols != std::ssize(output_ratios_)) refuse_field("output_ratio");
  for (std::int64_t sequence = 0; sequence < ratios.rows; ++sequence) {
    for (std::int64_t head = 0; head < ratios.cols; ++head) {
      const double ratio = ratios(sequence, head);
      if (ratio != kNoRatio) output_ratios_[static_cast<std::size_t>(head)].add(ratio);
    }
  }
  if (fields.find("activation") == nullptr) return;
  const auto& magnitudes = expect_vector<double>(fields, "activation");
  const auto& medians = expect_vector<double>(fields, "activation_median");
  const auto& dimensions = expect_vector<std::int64_t>(fields, "activation_dimension");
  const auto& positions = expect_vector<std::int64_t>(fields, "activation_position");
  const std::size_t count = magnitudes.size();
  if (medians.size() != count || dimensions.size() != count || positions.size() != count) {
    refuse_field("activation");
  }
  for (std::size_t at = 0; at < count; ++at) {
    if (largest_ && magnitudes[at] <= largest_->magnitude) continue;
    largest_ = {.magnitude = magnitudes[at],
                .median = medians[at],
                .dimension = dimensions[at],
                .position = positions[at]};
  }
  const auto& outliers = expect_vector<std::int64_t>(fields, "outliers");
  if (outliers_.empty()) outliers_.resize(outliers.size());
  if (outliers.size() != outliers_.size()) refuse_field("outliers");
  for (std::size_t at = 0; at < outliers.size(); ++at) outliers_[at] += outliers[at];
  positions_ += expect<std::int64_t>(fields, "positions");
}

void ActivationSums::add_head_fields(std::size_t head, Record& row) const {
  const MeanWithError ratio = output_ratios_[head].result();
  row.add("output_ratio", ratio.mean).add("output_ratio_error", ratio.standard_error);
}

void ActivationSums::add_layer_fields(Record& row) const {
  if (!largest_) {
    for (const char* name : {"max_activation", "activation_ratio", "activation_dimension",
                             "activation_position", "outlier_count", "outlier_dimensions"}) {
      row.add(name, Value());
    }
    return;
  }
  std::vector<std::int64_t> outliers = outlier_dimensions(outliers_, positions_);
  const auto count = std::ssize(outliers);
  outliers.resize(std::min(outliers.size(), kListedOutliers));
  const LargestActivation& found = *largest_;
  row.add("max_activation", found.magnitude)
      .add("activation_ratio", found.median > 0 ? Value(found.magnitude / found.median) : Value())
      .add("activation_dimension", found.dimension)
      .add("activation_position", found.position)
      .add("outlier_count", count)
      .add("outlier_dimensions", std::move(outliers));
}

}  // namespace attnscope
