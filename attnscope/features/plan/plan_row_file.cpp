// Reads all fields of one row of a plan, according to its method.
#include <array>
#include <nlohmann/json.hpp>

#include "attnscope/features/plan/plan_reader.h"

namespace attnscope {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 20> kRowFields = {"model",
                                                         "stack",
                                                         "method",
                                                         "layer",
                                                         "matrix",
                                                         "parameters",
                                                         "parameters_after",
                                                         "kept",
                                                         "rank",
                                                         "break_even_rank",
                                                         "max_possible_rank",
                                                         "sensitivity",
                                                         "predicted_kl",
                                                         "block_influence",
                                                         "attention_influence",
                                                         "mlp_influence",
                                                         "loss_increase",
                                                         "attention_loss_increase",
                                                         "mlp_loss_increase",
                                                         "order"};

/// Upper limit for differences of log-probabilities, which come from float32 logits.
constexpr double kMostNats = std::numeric_limits<float>::max();
constexpr double kFileRounding =
    1e-6;  // rounding error of cosines and divergences, which are sums of many numbers

void read_matrix(const PlanReader& reader, const PlanObject& place, PlanRow& out) {
  if (out.method->rows != PlanRows::matrix) {
    for (const char* name : {"matrix", "rank", "break_even_rank", "max_possible_rank",
                             "sensitivity", "predicted_kl"}) {
      reader.null(place, name);
    }
    return;
  }
  const std::string name = reader.text(place, "matrix");
  out.matrix = role_from_name(name);
  if (!out.matrix) reader.refuse(path_of(place, "matrix"), "unknown matrix '" + name + "'");
  out.break_even_rank = reader.integer(place, "break_even_rank", 0);
  out.max_possible_rank = reader.integer(place, "max_possible_rank", 1);
  if (!reader.field(place, "rank").is_null()) {
    out.rank = reader.integer(place, "rank", 1, *out.break_even_rank);
  }
  const auto probed = reader.number_or_null(place, "sensitivity", -kFileRounding, kMostNats);
  out.predicted_kl = reader.number_or_null(place, "predicted_kl", -kFileRounding, kMostNats);
  if (!out.rank && out.predicted_kl != 0.0) {
    reader.refuse(path_of(place, "predicted_kl"), "expected 0: the matrix is not factored");
  }
  if (out.rank && probed.has_value() != out.predicted_kl.has_value()) {
    reader.refuse(path_of(place, "predicted_kl"),
                  probed ? "expected a number, because sensitivity is a number"
                         : "expected null, because sensitivity is null");
  }
}

void read_removal(const PlanReader& reader, const PlanObject& place, std::int64_t rows,
                  PlanRow& out) {
  const std::array<const char*, 3> influences = {"block_influence", "attention_influence",
                                                 "mlp_influence"};
  const std::array<const char*, 3> losses = {"loss_increase", "attention_loss_increase",
                                             "mlp_loss_increase"};
  if (out.method->rows != PlanRows::removal) {
    for (const char* name : influences) reader.null(place, name);
    for (const char* name : losses) reader.null(place, name);
    reader.null(place, "order");
    return;
  }
  for (const char* name : influences) {  // 1 − cosine
    reader.number_or_null(place, name, -kFileRounding, 2 + kFileRounding);
  }
  // Removing a layer may also decrease the loss.
  for (const char* name : losses) reader.number_or_null(place, name, -kMostNats, kMostNats);
  if (reader.field(place, "order").is_null()) {
    out.kept = {reader.integer(place, "layer", 0)};
  } else {
    reader.integer(place, "order", 0, rows);
  }
}

}  // namespace

PlanRow read_plan_row(const PlanReader& reader, const json& value, std::size_t at,
                      std::int64_t rows) {
  const PlanObject place{value, "rows[" + std::to_string(at) + "]"};
  reader.expect_fields(place, kRowFields);
  PlanRow out{.method = reader.method(path_of(place, "method"), reader.text(place, "method")),
              .model = reader.text(place, "model")};
  if (value.contains("stack")) {  // only for models with several stacks
    const std::string stack = reader.text(place, "stack");
    if (!out.model.ends_with(":" + stack)) {
      reader.refuse(path_of(place, "stack"),
                    "is '" + stack + "', expected the stack of " + out.model);
    }
  }
  if (!reader.field(place, "layer").is_null()) out.layer = reader.integer(place, "layer", 0);
  out.parameters = reader.integer(place, "parameters", 0);
  // Savings are divided evenly between the rows, so a small layer can get a negative number.
  out.parameters_after = reader.integer(place, "parameters_after", -kUnlimitedCount);
  if (out.method->list_unit > 0) {
    out.kept = reader.integers(place, "kept");
  } else {
    reader.null(place, "kept");
  }
  read_matrix(reader, place, out);
  read_removal(reader, place, rows, out);
  return out;
}

}  // namespace attnscope
