#include "attnscope/features/spectrum/activations_run.h"

#include <algorithm>
#include <cmath>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/summary_rows.h"
#include "attnscope/engine/system_memory.h"
#include "attnscope/engine/work_queue.h"
#include "attnscope/features/common/calibration/calibration.h"
#include "attnscope/features/common/calibration/low_rank_fit.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/features/spectrum/measures.h"
#include "attnscope/numerics/svd/singular_values.h"

namespace attnscope {
namespace {

/// Square roots of energies, because energy ranks are defined on singular values.
std::vector<double> roots_of(std::vector<double> energies) {
  for (double& energy : energies) energy = std::sqrt(std::max(energy, 0.0));
  return energies;
}

Record ranks_at(const std::vector<double>& values, const std::vector<double>& thresholds) {
  Record out;
  for (const double threshold : thresholds) {
    out.add(shortest_decimal(threshold), energy_rank(values, threshold));
  }
  return out;
}

Record measured_row(const Model& model, const LayerMatrix& place, const Matrix<double>& weight,
                    const MeanMoments& moments, const std::vector<double>& read,
                    const ActivationRequest& request, const Compute& compute) {
  const SpectrumShape shape{.rows = weight.rows(), .cols = weight.cols()};
  const std::vector<double> own = singular_values(weight.view(), compute).values;
  const std::vector<double> given = roots_of(output_energies(weight.view(), moments, compute));
  const RandomBaseline baseline(shape);
  Record nulls;
  for (const double threshold : request.energy) {
    nulls.add(shortest_decimal(threshold), baseline.energy_rank(threshold));
  }
  Record row = {
      {"model", model.name()}, {"layer", place.first}, {"matrix", role_name(place.second)}};
  row.add("shape", std::vector<std::int64_t>{shape.rows, shape.cols})
      .add("energy_rank", ranks_at(own, request.energy))
      .add("random_energy_rank", std::move(nulls))
      .add("activation_energy_rank", ranks_at(given, request.energy))
      .add("input_energy_rank", ranks_at(read, request.energy))
      .add("input_top_share", energy_at_rank(read, 1))
      .add("max_possible_rank", shape.max_possible_rank());
  return row;
}

}  // namespace

void run_activation_spectrum(const Model& model, const ActivationRequest& request,
                             const Context& context, RowSink& sink) {
  const auto roles = select_matrices(std::span(&model, 1), request.matrices, sink).front();
  std::vector<LayerMatrix> places;
  for (const std::int64_t layer : request.layers.resolve(model.dimensions().layers, model.name())) {
    for (const Role role : roles) {
      if (!is_projection(role)) {
        throw Error(
            ErrorKind::usage,
            {.parameter = "matrix",
             .problem =
                 '\'' + std::string(role_name(role)) +
                 "' combines several matrices; {activations} supports single projections only"});
      }
      const auto sites = moment_sites(model);
      const SecondMomentSums::Site site{layer, input_of(role)};
      const bool seen = std::find(sites.begin(), sites.end(), site) != sites.end();
      if (seen && model.weight(layer, role).tensor != nullptr) places.emplace_back(layer, role);
    }
  }
  std::vector<Record> rows;
  std::vector<Skipped> skipped;
  std::int64_t tokens = 0, widest = 0;
  const auto work = [&](const Compute& compute) {
    const bool copies = copied_weights_bytes(model, context.memory_bytes) > 0;
    Calibration calibration(model, {.windows = request.windows, .copy_weights = copies},
                            context.memory_bytes / 2, /*ridge=*/0);
    const TextStatistics text = calibration.statistics(compute);
    tokens = calibration.tokens();
    std::optional<SecondMomentSums::Site> read_site;  // of `read`: matrices share inputs
    std::vector<double> read;
    for (const LayerMatrix& place : places) {
      compute.check_stop();
      trim_heap();
      const auto skip = [&](const std::string& reason) {
        skipped.push_back({.model = model.name(),
                           .layer = place.first,
                           .matrix = std::string(role_name(place.second)),
                           .head = {},
                           .reason = reason});
      };
      try {
        const SecondMoments& moments = text.moments(place.first, place.second);
        widest = std::max(widest, moments.size());
        const SecondMomentSums::Site site{place.first, input_of(place.second)};
        if (site != read_site) {
          read = roots_of(input_energies(moments.mean(), compute));
          read_site = site;
        }
        const Matrix<double> weight = canonical_matrix(model, place.first, place.second);
        if (const auto reason = find_not_finite(weight.view())) {
          skip(*reason);
          continue;
        }
        rows.push_back(measured_row(model, place, weight, moments.mean(), read, request, compute));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::numerical) throw;
        skip(error.what());
      }
    }
  };
  run_with_all_threads(context, work, {"text", "texts"});
  if (tokens < widest) {
    sink.add_note(
        "the text has " + counted(tokens, "token") + ", fewer than the " + std::to_string(widest) +
        " inputs of the widest matrix. The number of tokens limits the ranks: use a longer text");
  }
  ReportHead head{.command = "spectrum",
                  .models = {facts_record(summarize(model))},
                  .parameters = {{"energy", request.energy}}};
  head.parameters.add("matrix", roles_value(request.matrices))
      .add("layers", request.layers.parameter())
      .add("activations", request.source)
      .add("sequences", std::ssize(request.windows))
      .add("length", std::ssize(request.windows.front()));
  sink.begin(head);
  for (Record& row : rows) sink.add_row(std::move(row));
  for (Skipped& one : skipped) sink.add_skipped(std::move(one));
  sink.end();
}

}  // namespace attnscope
