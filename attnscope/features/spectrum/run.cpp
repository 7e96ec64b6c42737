#include "attnscope/features/spectrum/run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/engine/runner.h"
#include "attnscope/features/common/cost_estimates.h"
#include "attnscope/features/common/mla_latents.h"
#include "attnscope/features/common/read_weight.h"
#include "attnscope/features/framework/selections.h"
#include "attnscope/features/spectrum/spectra.h"
#include "attnscope/features/spectrum/stored_spectrum.h"

namespace attnscope {
namespace {

std::vector<Rank> ranks_of(const Record& options) {
  std::vector<Rank> ranks;
  const Value* asked = options.find("rank");
  if (asked == nullptr) return ranks;
  for (const Value& text : expect<Value::List>(*asked, "rank")) {
    ranks.push_back(parse_rank(expect<std::string>(text, "rank")));
  }
  return ranks;
}

double matrices_flops(const Model& model, std::int64_t layer, Role role, bool per_head) {
  const Dimensions& dimensions = model.dimensions(layer);
  const HeadShape& shape = dimensions.heads;
  const double heads = per_head ? static_cast<double>(shape.count(role)) : 0;
  const double width = static_cast<double>(dimensions.width);
  if (is_product(role)) {
    const double inner =
        static_cast<double>(is_of_queries(role) ? shape.head_dim : shape.value_dim);
    const double summed = std::min(static_cast<double>(summed_rank(dimensions, role)), width);
    // Two QR factorizations, the product of the triangular factors, and its spectrum.
    const auto product = [&](double rank) {
      return 4 * width * rank * rank + 4 * rank * rank * rank;
    };
    return product(summed) + heads * product(inner);
  }
  const auto [rows, of_stream] = canonical_shape(dimensions, role);
  const std::int64_t cols =
      model.is_of_latents(role) ? std::min(latent_inner(dimensions, role), of_stream) : of_stream;
  const double slice =
      static_cast<double>(role == Role::kv ? shape.head_dim + shape.value_dim : shape.head_dim);
  return spectrum_flops(static_cast<double>(rows), static_cast<double>(cols)) +
         heads * spectrum_flops(slice, static_cast<double>(cols));
}

/// The whole matrix needs more memory than any of its heads.
std::uint64_t matrices_bytes(const Model& model, std::int64_t layer, Role role, bool per_head) {
  const Dimensions& dimensions = model.dimensions(layer);
  if (is_product(role)) {
    const std::int64_t inner = summed_rank(dimensions, role);
    return circuit_factor_bytes(dimensions, role) + float64_bytes(inner, dimensions.width) +
           product_spectrum_bytes(model, layer, role, inner);
  }
  if (model.is_of_latents(role)) {
    const std::int64_t inner = std::min(latent_inner(dimensions, role), dimensions.width);
    const std::int64_t rows = canonical_shape(dimensions, role).first;
    return latent_bytes(dimensions, role, inner) +
           role_spectrum_bytes(model, layer, role, rows, inner);
  }
  const bool has_heads = per_head && dimensions.heads.count(role) > 0;
  if (has_heads || !model.is_stored(role)) return matrix_spectrum_bytes(model, layer, role);
  return weight_spectrum_bytes(model.weight(layer, role).matrix);
}

Cost spectrum_cost(const WorkItem& item, const ModelSource& source) {
  if (item.tensor.empty()) {
    const Model& model = *source.model;
    if (!item.experts.empty()) return expert_spectra_cost(item, model);
    return {matrices_flops(model, *item.layer, *item.role, spectrum_per_head(item)),
            matrices_bytes(model, *item.layer, *item.role, spectrum_per_head(item))};
  }
  const TensorView& view = source.checkpoint->find(item.tensor)->view;
  return {spectrum_flops(static_cast<double>(view.shape[0]), static_cast<double>(view.shape[1])),
          weight_spectrum_bytes(whole_matrix(view))};
}

void add_spectrum_inputs(ItemInputs& inputs, const WorkItem& item, const ModelSource& source) {
  if (item.tensor.empty()) {
    add_role_inputs(inputs, item, source);
  } else {
    const CheckpointTensor& tensor = *source.checkpoint->find(item.tensor);
    inputs.add_matrix(*source.checkpoint, tensor, whole_matrix(tensor.view));
  }
  // Stores may contain rows of float64 weights computed from Gram matrices; these are not reused.
  const auto is_float64 = [](const ItemInputs::Read& read) {
    return read.tensor->view.dtype == DType::f64;
  };
  const auto& reads = inputs.reads();
  if (std::any_of(reads.begin(), reads.end(), is_float64)) inputs.add("resolution", "float64");
}

RowMaker make_spectrum_rows(RowSink& sink) { return rows_with_heads(sink); }

/// Returns " (did you mean 'x'?)" for a typing error, otherwise a few names that end or begin
/// alike, or an empty text.
std::string near_names(const std::string& name, const std::vector<std::string>& known) {
  const std::string meant = suggestion(name, known);
  if (!meant.empty()) return meant;
  constexpr std::size_t kShown = 3;
  std::vector<std::string> near;
  for (const std::string& other : known) {
    if (near.size() == kShown) break;
    if (other.find(name) != std::string::npos || name.find(other) != std::string::npos) {
      near.push_back("'" + other + "'");
    }
  }
  return near.empty() ? " (info lists the tensors)" : " (similar: " + join(near) + ")";
}

/// Checks that the checkpoint has a 2-D tensor of that name. Throws Error(usage).
void check_tensor(const Checkpoint& checkpoint, const std::string& name) {
  const auto refuse = [](const std::string& problem) {
    throw Error(ErrorKind::usage, {.parameter = "tensor", .problem = verbatim(problem)});
  };
  const CheckpointTensor* found = checkpoint.find(name);
  if (found == nullptr) {
    std::vector<std::string> known;
    for (const CheckpointTensor& other : checkpoint.tensors()) known.push_back(other.name);
    refuse(checkpoint.main_file().string() + " has no tensor '" + name + "'" +
           checkpoint.missing_note(name) + near_names(name, known));
  }
  if (found->view.shape.size() != 2 || found->view.element_count() == 0) {
    refuse(checkpoint.place_of(*found) + " has shape " + shape_text(found->view.shape) +
           ", expected a matrix");
  }
}

}  // namespace

SpectrumFields spectrum_fields(const Record& options, std::int64_t width) {
  SpectrumFields wanted{.thresholds = expect_vector<double>(options, "energy"),
                        .with_values = expect<bool>(options, "values")};
  for (const Rank& rank : ranks_of(options)) {
    if (rank.of_width && width == 0) refuse_field("rank");
    wanted.ranks.push_back({rank.text(), rank.resolve(width)});
  }
  return wanted;
}

void refuse_ranks_by_width(const Record& options, const std::string& asked_of) {
  for (const Rank& rank : ranks_of(options)) {
    if (!rank.of_width) continue;
    throw Error(ErrorKind::usage,
                {.parameter = "rank",
                 .problem = '\'' + rank.text() + "' is relative to the hidden size, which " +
                            asked_of + " does not have; pass an integer"});
  }
}

const Analysis& spectrum_analysis() {
  static constexpr Analysis analysis = {.name = "spectrum",
                                        .command = "spectrum",
                                        .roles = kEveryRole,
                                        .takes_experts = true,
                                        .takes_tensors = true,
                                        .compute = compute_spectra,
                                        .cost = spectrum_cost,
                                        .add_inputs = add_spectrum_inputs,
                                        .make_rows = make_spectrum_rows};
  return analysis;
}

void run_spectrum(std::span<const Model> models, const SpectrumRequest& request,
                  const Context& context, RowSink& sink) {
  const auto matrices = select_matrices(models, request.matrices, sink, /*of_experts=*/true);
  ReportHead head{.command = "spectrum", .parameters = request.options};
  head.parameters.add("matrix", roles_value(request.matrices))
      .add("layers", request.layers.parameter())
      .add("per_head", request.per_head);
  if (!request.experts.text.empty()) head.parameters.add("experts", request.experts.text);
  Plan plan{.analysis = &spectrum_analysis(), .parameters = request.options};
  plan.parameters.add("per_head", request.per_head);
  add_text_parameters(head.parameters, plan.parameters, request.text);
  add_layers_and_experts(plan, models, matrices, request.layers, request.experts, sink);
  for (std::size_t index = 0; index < models.size(); ++index) {
    const auto& own = matrices[index];
    const bool of_latents = std::any_of(
        own.begin(), own.end(), [&](Role role) { return models[index].is_of_latents(role); });
    if (of_latents) sink.add_note(mla_note(models[index], request.text.has_value()));
  }
  measure_latents(plan, models, request.text, context, sink);
  run_plan(plan, sources_of(models), std::move(head), context, sink);
}

void run_tensor_spectrum(std::span<const std::shared_ptr<const Checkpoint>> checkpoints,
                         std::span<const std::string> names, const std::string& tensor,
                         const Record& options, const Context& context, RowSink& sink) {
  refuse_ranks_by_width(options, "a single tensor");
  ReportHead head{.command = "spectrum", .parameters = options};
  head.parameters.add("tensor", tensor);
  Plan plan{.analysis = &spectrum_analysis(), .parameters = head.parameters};
  std::vector<ModelSource> sources;
  for (std::size_t index = 0; index < checkpoints.size(); ++index) {
    const Checkpoint& checkpoint = *checkpoints[index];
    check_tensor(checkpoint, tensor);
    sources.push_back({.checkpoint = &checkpoint,
                       .name = names[index],
                       .facts = {{"name", names[index]}, {"bytes", checkpoint.file_bytes()}}});
    plan.add(index, std::nullopt).tensor = tensor;
  }
  run_plan(plan, sources, std::move(head), context, sink);
}

}  // namespace attnscope
