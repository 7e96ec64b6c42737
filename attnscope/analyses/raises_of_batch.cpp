#include "attnscope/analyses/raises_of_batch.h"

namespace attnscope {
namespace {

/// What a head reads of a key is divided by the scale of its own query where branches have norms.
bool has_raises(const ForwardPass& pass) {
  return LinearHead::obstacle(pass).empty() && !LinearHead::norms_branches(pass);
}

}  // namespace

void RaisesOfBatch::prepare(const ForwardPass& pass, std::span<const TokenIds> sequences,
                            std::span<WorkItem> items) {
  if (!has_raises(pass)) return;
  TokenIds all;
  for (const TokenIds& ids : sequences) {
    for (const std::int64_t id : ids) {
      if (id >= pass.logits_width()) return;  // a head may know fewer tokens than the embedding
      all.push_back(id);
    }
  }
  const std::vector<double> mean = mean_output_row(pass, all);
  for (WorkItem& item : items) item.parameters.add("mean_output_row", mean);
}

void RaisesOfBatch::watch(const ForwardPass& pass, ForwardObserver& observer) {
  const std::int64_t last = pass.model().dimensions().layers - 1;
  if (item_.parameters.find("mean_output_row") == nullptr) return;
  if (item_.batch->layers.back() != last || !has_raises(pass)) return;
  std::vector<double> from = expect_vector<double>(item_.parameters, "mean_output_row");
  if (std::ssize(from) != pass.model().dimensions().width) refuse_field("mean_output_row");
  head_.emplace(pass, std::move(from));
  raises_.emplace(pass, *head_, item_.batch->tokens, compute_);
  observer.end_after_maps_of.reset();
  observer.on_values = [this](std::int64_t layer, MatrixView<const float> values) {
    raises_->add_values(layer, values);
  };
  observer.on_maps = [this, look = std::move(observer.on_maps)](const LayerMaps& maps) {
    raises_->add_maps(maps);
    look(maps);
  };
  observer.on_stream = [this, last](std::int64_t index, MatrixView<const float> stream) {
    if (index > last) raises_->end(stream);
  };
}

void RaisesOfBatch::add_to(std::vector<Outcome>& outcomes) const {
  if (!raises_) return;
  for (Outcome& outcome : outcomes) {
    const Matrix<double>& means = raises_->of_layer(expect<std::int64_t>(outcome.fields, "layer"));
    outcome.fields.add(
        "raises",
        Array{{means.rows(), means.cols()},
              std::vector<double>(means.data(), means.data() + means.rows() * means.cols())});
  }
}

void add_raises(const Record& fields, std::vector<RunningMean>& heads) {
  if (fields.find("raises") == nullptr) return;
  const auto raises = expect_matrix<double>(fields, "raises");
  if (raises.cols != std::ssize(heads)) refuse_field("raises");
  for (std::int64_t sequence = 0; sequence < raises.rows; ++sequence) {
    for (std::int64_t head = 0; head < raises.cols; ++head) {
      heads[static_cast<std::size_t>(head)].add(raises(sequence, head));
    }
  }
}

}  // namespace attnscope
