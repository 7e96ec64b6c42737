// Checks that the figures of a plan agree with its rows and its model.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/rank_allocation.h"
#include "attnscope/features/plan/plan_file.h"

namespace attnscope {
namespace {

constexpr double kRelative = 1e-9;  // tolerance for sums that were written with all their digits

bool about_equal(double a, double b) {
  return std::abs(a - b) <= kRelative * std::max(std::abs(a), std::abs(b));
}

class FiguresCheck {
 public:
  FiguresCheck(const PlanFile& plan, const Model& model, std::string_view file)
      : plan_(plan), model_(model), file_(file), size_(size_of(model)) {}

  void run() {
    expect_plan("parameters_before", plan_.before.parameters, size_.parameters);
    expect_plan("kv_cache_bytes_per_token_before", plan_.before.kv_cache_bytes_per_token,
                size_.kv_cache_bytes_per_token);
    expect_flops("flops_per_token_before", plan_.before.flops_per_token, size_.flops_per_token);
    planned_ = plan_.choices;
    for (Choice& choice : planned_) {
      if (choice.method->rows == PlanRows::removal) take_planned_layers(choice);
    }
    check_rows();
    check_after();
    check_sizes();
    check_words();
    check_expected_loss();
  }

 private:
  [[noreturn]] void refuse(const std::string& place, const std::string& problem) const {
    throw Error(ErrorKind::format, {.file = file_, .place = place, .problem = verbatim(problem)});
  }

  [[noreturn]] void refuse_plan(const std::string& field, const std::string& problem) const {
    refuse("models[0].plan." + field, problem);
  }

  void expect_plan(const std::string& field, std::int64_t found, std::int64_t expected) const {
    if (found == expected) return;
    refuse_plan(field, "is " + std::to_string(found) + ", expected " + std::to_string(expected));
  }

  void expect_row(std::size_t at, const std::string& field, std::int64_t found,
                  std::int64_t expected, const std::string& why = "") const {
    if (found == expected) return;
    refuse(row_place(at, field),
           "is " + std::to_string(found) + ", expected " + std::to_string(expected) + why);
  }

  void expect_flops(const std::string& field, double found, double expected) const {
    if (about_equal(found, expected)) return;
    refuse_plan(field,
                "is " + shortest_decimal(found) + ", expected " + shortest_decimal(expected));
  }

  /// Users may edit only `order`, which decides the layers that are kept. The figures then still
  /// describe the layers that the plan chose: those with parameters left.
  void take_planned_layers(Choice& choice) const {
    std::vector<std::int64_t> kept;
    for (const PlanRow& row : plan_.rows) {
      if (row.method->rows != PlanRows::removal || !(row.parameters_after > 0)) continue;
      kept.push_back(row.layer.value_or(0));
    }
    choice.size = std::ssize(kept);
    choice.kept = {std::move(kept)};
  }

  void check_rows() const {
    for (std::size_t at = 0; at < plan_.rows.size(); ++at) {
      const PlanRow& row = plan_.rows[at];
      if (row.method->rows == PlanRows::matrix) {
        check_row_of_ranks(at);
      } else if (row.method->rows == PlanRows::removal) {
        check_row_of_layers(at);
      } else if (row.method == planned_.front().method) {
        check_row_of_first(at);
      } else {
        check_later_row(at);
      }
    }
  }

  void check_row_of_ranks(std::size_t at) const {
    const PlanRow& row = plan_.rows[at];
    if (at > 0 && !before(plan_.rows[at - 1], row)) {
      const bool later = *row.layer >= *plan_.rows[at - 1].layer;
      refuse(row_place(at, later ? "matrix" : "layer"),
             "expected rows ordered by layer, then by matrix");
    }
    const TensorMatrix& matrix = model_.weight(*row.layer, *row.matrix).matrix;
    const RankOptions shape{.rows = matrix.rows, .cols = matrix.cols};
    expect_row(at, "break_even_rank", *row.break_even_rank, shape.break_even());
    expect_row(at, "max_possible_rank", *row.max_possible_rank, std::min(shape.rows, shape.cols));
    expect_row(at, "parameters", row.parameters, shape.rows * shape.cols);
    expect_row(at, "parameters_after", row.parameters_after,
               row.rank ? *row.rank * (shape.rows + shape.cols) : row.parameters,
               " for rank " + (row.rank ? std::to_string(*row.rank) : "null"));
  }

  bool before(const PlanRow& one, const PlanRow& other) const {
    if (*one.layer != *other.layer) return *one.layer < *other.layer;
    const std::vector<Role> roles = stored_projections(model_, *one.layer);
    return std::ranges::find(roles, *one.matrix) < std::ranges::find(roles, *other.matrix);
  }

  void check_row_of_layers(std::size_t at) const {
    const PlanRow& row = plan_.rows[at];
    if (planned_.front().method->rows == PlanRows::removal) {
      expect_row(at, "parameters", row.parameters,
                 parameters_of_layer(model_, row.layer.value_or(0)));
    }
    if (row.parameters_after != 0 && row.parameters_after != row.parameters) {
      refuse(row_place(at, "parameters_after"),
             "is " + std::to_string(row.parameters_after) + ", expected 0 (removed layer) or " +
                 std::to_string(row.parameters) + " (kept layer)");
    }
  }

  /// A row of the first method, which changes the original model.
  void check_row_of_first(std::size_t at) const {
    const PlanRow& row = plan_.rows[at];
    const Choice& choice = planned_.front();
    const auto count = std::ranges::count(plan_.rows, choice.method, &PlanRow::method);
    const ModelSize after = size_after(model_, size_, choice);
    const std::int64_t each = (size_.parameters - after.parameters) / count;
    std::int64_t whole = size_.parameters;
    if (row.layer) {
      const Model& stack = row.model == plan_.model ? model_ : *stack_of_same_width(model_);
      whole = parameters_of_layer(stack, *row.layer);
    }
    expect_row(at, "parameters", row.parameters, whole);
    expect_row(at, "parameters_after", row.parameters_after, whole - each);
  }

  /// A row of a later method, which changes an intermediate model that does not exist yet.
  void check_later_row(std::size_t at) const {
    const PlanRow& row = plan_.rows[at];
    // At most an untied LM head may be new.
    const std::int64_t most = 2 * size_.parameters;
    if (row.parameters > most) {
      refuse(row_place(at, "parameters"),
             "is " + std::to_string(row.parameters) + ", expected at most " + std::to_string(most));
    }
    if (std::abs(row.parameters_after) > most) {
      refuse(row_place(at, "parameters_after"), "is " + std::to_string(row.parameters_after) +
                                                    ", expected at most " + std::to_string(most));
    }
    if (at > 0 && plan_.rows[at - 1].method == row.method) {  // each saves the same
      const PlanRow& last = plan_.rows[at - 1];
      expect_row(at, "parameters_after", row.parameters_after,
                 row.parameters - (last.parameters - last.parameters_after));
    }
    if (!row.layer && row.method == planned_.back().method) {
      expect_row(at, "parameters_after", row.parameters_after, plan_.after.parameters);
    }
  }

  void check_after() const {
    const Choice& choice = planned_.front();
    if (planned_.size() > 1) return;
    const ModelSize after = size_after(model_, size_, choice);
    expect_plan("parameters_after", plan_.after.parameters, after.parameters);
    expect_plan("kv_cache_bytes_per_token_after", plan_.after.kv_cache_bytes_per_token,
                after.kv_cache_bytes_per_token);
    if (!choice.method->allocates_ranks()) {
      expect_flops("flops_per_token_after", plan_.after.flops_per_token, after.flops_per_token);
    } else if (plan_.after.flops_per_token > size_.flops_per_token) {  // ranks may be edited
      refuse_plan("flops_per_token_after", "expected at most flops_per_token_before");
    }
  }

  void check_sizes() const {
    const std::vector<std::int64_t>& sizes = plan_.summary.sizes;
    const bool one = planned_.size() == 1;
    if (sizes.size() != planned_.size()) {
      refuse_plan("sizes", "expected " + counted(planned_.size(), "number"));
    }
    for (std::size_t at = 0; at < planned_.size(); ++at) {
      const Choice& choice = planned_[at];
      if (one && choice.method->allocates_ranks()) {
        check_budget();
      } else if (one) {
        expect_plan("size", plan_.summary.size, choice.size);
      }
      expect_plan("sizes[" + std::to_string(at) + "]", sizes[at],
                  one ? plan_.summary.size : choice.size);
      if (choice.method->makes_latents) continue;
      expect_plan("joint", choice.joint, 0);
      if (choice.exact) refuse_plan("exact", "expected false: only mla uses it");
    }
  }

  /// The size of low_rank is the parameter budget. It is a share of all parameters with `--keep`,
  /// and 0 with `--set`. An edited plan may also give the sum over its rows.
  void check_budget() const {
    std::int64_t whole = 0, after = 0;
    for (const PlanRow& row : plan_.rows) {
      whole += row.parameters;
      after += row.parameters_after;
    }
    const std::int64_t size = plan_.summary.size;
    if (size == after) return;
    const std::optional<std::int64_t> budget = budget_of(whole);
    const bool fits = budget ? size == *budget : size <= whole;
    if (fits && (size == 0 || plan_.rank_allocation != "kl" || after <= size)) return;
    std::string expected = std::to_string(after) + ", the sum of rows[].parameters_after";
    if (budget && *budget >= after) {
      expected += ", or " + std::to_string(*budget) + ", the budget of '" + plan_.target + "'";
    }
    refuse_plan("size", "is " + std::to_string(size) + ", expected " + expected);
  }

  /// Empty if the budget was searched.
  std::optional<std::int64_t> budget_of(std::int64_t whole) const {
    constexpr std::string_view kKeep = "keep ";
    if (plan_.target.starts_with("set ")) return 0;
    if (!plan_.target.starts_with(kKeep)) return std::nullopt;
    const std::string_view text = std::string_view(plan_.target).substr(kKeep.size());
    double keep = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), keep);
    if (error != std::errc() || end != text.data() + text.size() || !(keep > 0 && keep <= 1)) {
      refuse("parameters.target", "expected 'keep' and a share greater than 0 and at most 1");
    }
    return static_cast<std::int64_t>(keep * static_cast<double>(whole));
  }

  void check_words() const {
    std::vector<std::string> named, plain, remarks;
    bool loadable = true;
    Dimensions left = model_.dimensions();
    for (const Choice& choice : planned_) {
      plain.push_back(choice_words(choice, whole_size(left, choice.method)));
      if (choice.method->cut != nullptr) choice.method->cut(left, choice.size);
      named.push_back(std::string(choice.method->name) + " " + plain.back());
      loadable = loadable && choice.method->loadable;
      if (!choice.method->remark.empty()) remarks.emplace_back(choice.method->remark);
    }
    // A plan of several methods names each of them, even if only one was used.
    const std::string& choice = plan_.summary.choice;
    const bool one = planned_.size() == 1;
    const std::string expected = one ? plain.front() : join(named, "; ");
    if (choice != expected && !(one && choice == named.front())) {
      refuse_plan("description", "is '" + choice + "', expected '" + expected + "'");
    }
    if (plan_.summary.loadable != loadable) {
      refuse_plan("loadable", loadable
                                  ? "expected true for this method"
                                  : "expected false: transformers cannot load low-rank factors");
    }
    if (plan_.summary.remark != join(remarks)) {
      refuse_plan("note", "is '" + plan_.summary.remark + "', expected '" + join(remarks) + "'");
    }
  }

  /// With measured sensitivities, the predicted KL divergence is the sum over the rows.
  void check_expected_loss() const {
    const bool probed = planned_.front().method->allocates_ranks() && plan_.rank_allocation == "kl";
    const auto& whole = plan_.summary.predicted_kl;
    if (!probed) {
      if (whole) refuse_plan("predicted_kl", "expected null: no sensitivities were measured");
      return;
    }
    double sum = 0;
    for (std::size_t at = 0; at < plan_.rows.size(); ++at) {
      const auto& own = plan_.rows[at].predicted_kl;
      if (!own) refuse(row_place(at, "predicted_kl"), "expected a number");
      sum += *own;
    }
    if (whole && about_equal(*whole, sum)) return;
    refuse_plan("predicted_kl",
                "expected " + shortest_decimal(sum) + ", the sum of rows[].predicted_kl");
  }

  const PlanFile& plan_;
  const Model& model_;
  std::string file_;
  ModelSize size_;
  std::vector<Choice>
      planned_;  // as the plan chose; the kept layers and ranks may have been edited since
};

}  // namespace

void check_plan_figures(const PlanFile& plan, const Model& model, std::string_view place) {
  FiguresCheck(plan, model, place).run();
}

}  // namespace attnscope
