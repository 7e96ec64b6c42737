#include "attnscope/features/common/calibration/calibration.h"

#include <algorithm>
#include <set>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/engine/system_memory.h"

namespace attnscope {
namespace {

std::vector<SecondMomentSums::Site> sites_of_layers(const Model& model, std::int64_t first,
                                                    std::int64_t count) {
  std::vector<SecondMomentSums::Site> sites = moment_sites(model);
  std::erase_if(sites, [&](const SecondMomentSums::Site& site) {
    return site.first < first || site.first >= first + count;
  });
  return sites;
}

}  // namespace

std::uint64_t spectra_bytes(const Model& model, bool with_directions) {
  std::uint64_t most = 0;
  for (std::int64_t layer = 0; layer < model.dimensions().layers; ++layer) {
    for (const Role role : stored_projections(model, layer)) {
      const TensorMatrix& matrix = model.weight(layer, role).matrix;
      most = std::max(most, with_directions ? output_directions_bytes(matrix.rows, matrix.cols)
                                            : energies_bytes(matrix.rows, matrix.cols));
    }
  }
  return most;
}

Calibration::Calibration(const Model& model, const TextWindows& text, std::uint64_t memory_bytes,
                         double ridge, MomentsCache* kept)
    : model_(model), text_(text), memory_bytes_(memory_bytes), ridge_(ridge), kept_(kept) {}

std::int64_t Calibration::layers_at_once() const {
  const std::int64_t layers = model_.dimensions().layers;
  std::uint64_t bytes = 0;
  for (std::int64_t count = 0; count < layers; ++count) {
    bytes += SecondMomentSums::bytes(model_, sites_of_layers(model_, count, 1));
    if (bytes > memory_bytes_) return std::max<std::int64_t>(1, count);
  }
  return layers;
}

std::uint64_t Calibration::buffered_bytes() const {
  return SecondMomentSums::bytes(model_, sites_of_layers(model_, 0, layers_at_once()));
}

std::int64_t Calibration::passes() const {
  const std::int64_t each = layers_at_once();
  return (model_.dimensions().layers + each - 1) / each;
}

std::int64_t Calibration::tokens() const {
  std::int64_t sum = 0;
  for (const TokenIds& window : model_.stack() == "encoder" ? text_.sources : text_.windows)
    sum += std::ssize(window);
  return sum;
}

const ForwardPass& Calibration::pass(const Compute& compute) {
  if (!pass_) pass_.emplace(model_, text_.copy_weights, compute);
  return *pass_;
}

void Calibration::run(const TextWindows& batch, const ForwardObserver& observer,
                      const Compute& compute) {
  compute.check_stop();
  run_windows(pass(compute), batch, observer, compute);
}

/// If the model produces NaN, all inputs that are not reached have no moments.
void Calibration::sum(std::int64_t first, std::int64_t count, const Compute& compute) {
  sums_.reset();  // frees the old sums before allocating new ones
  sums_.emplace(model_, sites_of_layers(model_, first, count));
  const std::string name = model_.stack() + (model_.stack().empty() ? "" : "-") +
                           std::to_string(first) + "-" + std::to_string(first + count - 1);
  std::set<SecondMomentSums::Site> seen;
  const ForwardObserver observer{
      .on_inputs =
          [&](std::int64_t number, Role role, MatrixView<const float> input) {
            const SecondMomentSums::Site site{number, role};
            sums_->add(site, input, compute);
            seen.insert(site);
          },
      .wants_inputs =
          [&](std::int64_t number, Role role) {
            return sums_->has({number, role});
          },
      .end_after_layer = first + count - 1};
  const std::vector<TextWindows> batches = batches_of(text_);
  const std::size_t done = kept_ == nullptr ? 0 : kept_->take(name, *sums_);
  for (std::size_t at = done; at < batches.size(); ++at) {
    seen.clear();
    try {
      run(batches[at], observer, compute);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::numerical) throw;
      for (const SecondMomentSums::Site& site : sums_->sites()) {
        if (!seen.contains(site)) sums_->spoil(site, error.parts().problem);
      }
    }
    if (kept_ != nullptr) kept_->keep(name, at + 1, *sums_);
  }
  trim_heap();
}

const SecondMoments& Calibration::moments(std::int64_t layer, Role projection,
                                          const Compute& compute) {
  const SecondMomentSums::Site site{layer, input_of(projection)};
  if (!sums_ || !sums_->has(site)) {
    sum(layer, std::min(layers_at_once(), model_.dimensions().layers - layer), compute);
  }
  return sums_->of(layer, projection);
}

/// From here on, both stacks share the memory limit.
const SecondMoments& Calibration::moments_of_other_stack(std::int64_t layer, Role projection,
                                                         const Compute& compute) {
  if (!other_stack_) {
    if (buffered_bytes() > memory_bytes_ / 2) sums_.reset();
    memory_bytes_ /= 2;
    other_ = model_.beside(stack_of_same_width(model_)->stack());
    other_stack_ = std::make_unique<Calibration>(*other_, text_, memory_bytes_, ridge_, kept_);
  }
  return other_stack_->moments(layer, projection, compute);
}

TextStatistics Calibration::statistics(const Compute& compute) {
  return {.moments = [this, &compute](std::int64_t layer, Role projection) -> const SecondMoments& {
            return moments(layer, projection, compute);
          },
          .moments_of_other_stack = [this, &compute](std::int64_t layer,
                                                     Role projection) -> const SecondMoments& {
            return moments_of_other_stack(layer, projection, compute);
          },
          .rerun =
              [this, &compute](const ForwardObserver& observer) {
                for (const TextWindows& batch : batches_of(text_)) run(batch, observer, compute);
              },
          .ridge = ridge_,
          .work_bytes = memory_bytes_};
}

}  // namespace attnscope
