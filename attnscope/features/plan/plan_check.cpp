// Checks that a plan fits its model.
#include <algorithm>
#include <functional>

#include "attnscope/base/error.h"
#include "attnscope/features/plan/methods/low_rank.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/methods/mlp.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/features/plan/plan_file.h"

namespace attnscope {
namespace {

class PlanCheck {
 public:
  PlanCheck(const PlanFile& plan, const Model& model, std::string_view file)
      : plan_(plan), model_(model), file_(file), left_(model.dimensions()) {}

  void run() {
    for (const Choice& choice : plan_.choices) {
      const std::string why = why_not(model_, choice.method);
      if (!why.empty()) refuse("models[0].plan.method", why);
      check_size(choice);
      check_rows(choice);
      if (choice.method->cut != nullptr) choice.method->cut(left_, choice.size);
    }
    check_plan_figures(plan_, model_, file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& place, const std::string& problem) const {
    throw Error(ErrorKind::format, {.file = file_, .place = place, .problem = verbatim(problem)});
  }

  void check_size(const Choice& choice) const {
    const bool one = plan_.choices.size() == 1;
    const auto at = &choice - plan_.choices.data();
    const std::string place =
        "models[0].plan." + (one ? "size" : "sizes[" + std::to_string(at) + "]");
    if (choice.method->allocates_ranks()) return;
    if (choice.method->check != nullptr) {
      const auto problem = choice.method->check(model_, choice);
      if (!problem) return;
      refuse(problem->field == "size" ? place : "models[0].plan." + problem->field,
             problem->problem);
    }
    const std::int64_t most = whole_size(left_, choice.method);
    const std::string name(choice.method->name);
    if (choice.size < 1 || choice.size > most) {
      refuse(place, std::to_string(choice.size) + " is out of range, expected from 1 to " +
                        std::to_string(most) + " for " + name);
    }
    if (at > 0) return;  // later methods change the model that an earlier one left
    const std::vector<std::int64_t> sizes = choice.method->sizes(model_);
    if (std::ranges::find(sizes, choice.size) == sizes.end()) {
      refuse(place, std::to_string(choice.size) + " is not a possible size of " + name +
                        " for this model");
    }
  }

  /// Expects one row per layer or a single row, whose kept indices exist in the model.
  void check_rows(const Choice& choice) const {
    const Method method = choice.method;
    if (method->allocates_ranks()) return check_ranks();
    std::int64_t expected = method->rows == PlanRows::model ? 1 : left_.layers;
    if (method->both_stacks) expected += mlp_count(model_) - model_.dimensions().layers;
    const std::int64_t unit = method->list_unit;
    std::int64_t found = 0, own = 0;
    for (std::size_t at = 0; at < plan_.rows.size(); ++at) {
      const PlanRow& row = plan_.rows[at];
      if (row.method != choice.method) continue;
      if (found++ == expected) break;
      own += row.model == plan_.model;
      if (unit > 0 && has_list(row)) {
        check_kept(at, choice.size / unit, whole_size(left_, method) / unit);
      }
    }
    if (found != expected) {
      refuse("rows", "expected " + std::to_string(expected) + " rows of " +
                         std::string(choice.method->name) + ", got " +
                         (found > expected ? "more" : std::to_string(found)));
    }
    if (method->both_stacks && own != left_.layers) {  // the other rows describe the other stack
      refuse("rows", "expected " + std::to_string(left_.layers) + " rows of " + plan_.model +
                         ", got " + std::to_string(own));
    }
    if (method->rows == PlanRows::removal && choice.kept.front().empty()) {
      refuse("rows", "no layer is kept: expected a row with \"order\": null");
    }
  }

  /// A layer that the method does not change keeps an empty list.
  bool has_list(const PlanRow& row) const {
    if (row.method->changes_layer == nullptr || !row.kept.empty()) return true;
    return row.method->changes_layer(model_, row.layer.value_or(0));
  }

  void check_kept(std::size_t at, std::int64_t count, std::int64_t limit) const {
    const std::vector<std::int64_t>& kept = plan_.rows[at].kept;
    const bool ascends = std::ranges::adjacent_find(kept, std::greater_equal<>()) == kept.end();
    if (std::ssize(kept) == count && ascends && (kept.empty() || kept.back() < limit)) return;
    refuse(row_place(at, "kept"), "expected " + std::to_string(count) +
                                      " different numbers from 0 to " + std::to_string(limit - 1) +
                                      ", in ascending order");
  }

  void check_ranks() const {
    for (std::size_t at = 0; at < plan_.rows.size(); ++at) {
      const PlanRow& row = plan_.rows[at];
      const LayerMatrix matrix{*row.layer, *row.matrix};
      if (*row.layer >= left_.layers) {
        refuse(row_place(at, "layer"),
               "expected a number from 0 to " + std::to_string(left_.layers - 1));
      }
      if (!is_projection(*row.matrix) ||
          model_.weight(matrix.first, matrix.second).tensor == nullptr) {
        refuse(row_place(at, "matrix"), "this layer has no matrix '" +
                                            std::string(role_name(*row.matrix)) +
                                            "' that can be factored");
      }
      if (!row.rank) continue;
      const std::string wrong =
          why_not_ranks(model_, {.method = row.method, .ranks = {{matrix, *row.rank}}});
      if (!wrong.empty()) refuse(row_place(at, "rank"), wrong);
    }
  }

  const PlanFile& plan_;
  const Model& model_;
  std::string file_;
  Dimensions left_;  // after the methods checked so far
};

}  // namespace

void check_plan_of_model(const PlanFile& plan, const Model& model, std::string_view place) {
  PlanCheck(plan, model, place).run();
}

}  // namespace attnscope
