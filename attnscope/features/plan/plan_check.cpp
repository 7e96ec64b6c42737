// Whether a plan fits the model that it is for.
#include <algorithm>
#include <functional>

#include "attnscope/base/error.h"
#include "attnscope/features/plan/methods/methods.h"
#include "attnscope/features/plan/model_size.h"
#include "attnscope/features/plan/plan_file.h"

namespace attnscope {
namespace {

/// The sizes of the model that the forms of a plan leave, one form after another.
struct LeftSizes {
  std::int64_t layers, mlps, mlp_width, width, heads, kv_heads, head_dim, experts;
};

LeftSizes sizes_of(const Model& model) {
  const Dimensions& dimensions = model.dimensions();
  return {.layers = dimensions.layers,
          .mlps = mlp_count(model),
          .mlp_width = dimensions.mlp_width,
          .width = dimensions.width,
          .heads = dimensions.heads.heads,
          .kv_heads = dimensions.heads.kv_heads,
          .head_dim = dimensions.heads.head_dim,
          .experts = dimensions.experts};
}

class PlanCheck {
 public:
  PlanCheck(const PlanFile& plan, const Model& model, std::string_view file)
      : plan_(plan), model_(model), file_(file), left_(sizes_of(model)) {}

  void run() {
    for (const Choice& choice : plan_.choices) {
      const std::string why = why_not(model_, choice.form);
      if (!why.empty()) refuse("models[0].plan.form", why);
      check_size(choice);
      check_rows(choice);
      take(choice);
    }
    check_plan_figures(plan_, model_, file_);
  }

 private:
  [[noreturn]] void refuse(const std::string& place, const std::string& problem) const {
    throw Error(ErrorKind::format, {.file = file_, .place = place, .problem = verbatim(problem)});
  }

  std::int64_t whole(Form form) const {
    switch (form) {
      case Form::layers: return left_.layers;
      case Form::width: return left_.mlp_width;
      case Form::hidden: return left_.width;
      case Form::head_width: return left_.head_dim;
      case Form::kv_heads: return left_.kv_heads;
      case Form::heads: return left_.heads;
      case Form::experts: return left_.experts;
      default: return 0;
    }
  }

  void check_size(const Choice& choice) const {
    const bool one = plan_.choices.size() == 1;
    const auto at = &choice - plan_.choices.data();
    const std::string place =
        "models[0].plan." + (one ? "size" : "sizes[" + std::to_string(at) + "]");
    if (choice.form == Form::ranks) return;
    if (choice.form == Form::latent) {
      const HeadShape& heads = model_.dimensions().heads;
      const std::int64_t keys = heads.total_dim(Role::key);
      if (choice.size < 2 || choice.size % 2 != 0 || choice.size > keys) {
        refuse(place, "expected an even number from 2 to " + std::to_string(keys));
      }
      const std::int64_t most = keys + heads.total_dim(Role::value);
      if (choice.joint < 1 || choice.joint > most) {
        refuse("models[0].plan.joint", "expected a number from 1 to " + std::to_string(most));
      }
      return;
    }
    const std::int64_t most = whole(choice.form);
    const std::string form(form_name(choice.form));
    if (choice.size < 1 || choice.size > most) {
      refuse(place, std::to_string(choice.size) + " is out of range, expected from 1 to " +
                        std::to_string(most) + " for " + form);
    }
    if (at > 0) return;  // later forms change the model that an earlier one left
    const std::vector<std::int64_t> sizes = possible_sizes(model_, choice.form);
    if (std::ranges::find(sizes, choice.size) == sizes.end()) {
      refuse(place, std::to_string(choice.size) + " is not a size that " + form +
                        " of this model can have");
    }
  }

  /// One row per layer, or one row; what they keep are numbers that the model has.
  void check_rows(const Choice& choice) const {
    std::int64_t expected = 1, kept = 0, limit = 0;
    switch (choice.form) {
      case Form::layers: expected = left_.layers; break;
      case Form::width:
        expected = left_.mlps;
        kept = choice.size, limit = left_.mlp_width;
        break;
      case Form::heads:
        expected = left_.layers;
        kept = choice.size, limit = left_.heads;
        break;
      case Form::experts:
        expected = left_.layers;
        kept = choice.size, limit = left_.experts;
        break;
      case Form::head_width: kept = choice.size / 2, limit = left_.head_dim / 2; break;
      case Form::ranks: return check_ranks();
      default: break;
    }
    std::int64_t found = 0, own = 0;
    for (std::size_t at = 0; at < plan_.rows.size(); ++at) {
      const PlanRow& row = plan_.rows[at];
      if (row.form != choice.form) continue;
      if (found++ == expected) break;
      own += row.model == plan_.model;
      if (limit > 0 && has_list(row)) check_kept(at, kept, limit);
    }
    if (found != expected) {
      refuse("rows", "expected " + std::to_string(expected) + " rows of " +
                         std::string(form_name(choice.form)) + ", got " +
                         (found > expected ? "more" : std::to_string(found)));
    }
    if (choice.form == Form::width && own != left_.layers) {  // the rest: of the other stack
      refuse("rows", "expected " + std::to_string(left_.layers) + " rows of " + plan_.model +
                         ", got " + std::to_string(own));
    }
    if (choice.form == Form::layers && choice.kept.front().empty()) {
      refuse("rows", "no layer stays: expected a row with \"order\": null");
    }
  }

  /// Layers without experts keep an empty list.
  bool has_list(const PlanRow& row) const {
    if (row.form != Form::experts || !row.kept.empty()) return true;
    const auto layer = static_cast<std::size_t>(row.layer.value_or(0));
    return model_.spec().layers[layer].experts.has_value();
  }

  void check_kept(std::size_t at, std::int64_t count, std::int64_t limit) const {
    const std::vector<std::int64_t>& kept = plan_.rows[at].kept;
    const bool ascends = std::ranges::adjacent_find(kept, std::greater_equal<>()) == kept.end();
    if (std::ssize(kept) == count && ascends && (kept.empty() || kept.back() < limit)) return;
    refuse(row_place(at, "kept"), "expected " + std::to_string(count) +
                                      " different numbers from 0 to " + std::to_string(limit - 1) +
                                      ", ascending");
  }

  void check_ranks() const {
    for (std::size_t at = 0; at < plan_.rows.size(); ++at) {
      const PlanRow& row = plan_.rows[at];
      const MatrixPlace matrix{*row.layer, *row.matrix};
      if (*row.layer >= left_.layers) {
        refuse(row_place(at, "layer"),
               "expected a number from 0 to " + std::to_string(left_.layers - 1));
      }
      if (!is_projection(*row.matrix) ||
          model_.weight(matrix.first, matrix.second).tensor == nullptr) {
        refuse(row_place(at, "matrix"), "this layer has no matrix '" +
                                            std::string(role_name(*row.matrix)) +
                                            "' whose rank could be lowered");
      }
      if (!row.rank) continue;
      const std::string wrong =
          why_not_ranks(model_, {.form = Form::ranks, .ranks = {{matrix, *row.rank}}});
      if (!wrong.empty()) refuse(row_place(at, "rank"), wrong);
    }
  }

  void take(const Choice& choice) {
    switch (choice.form) {
      case Form::layers:
        left_.mlps -= left_.layers - choice.size;
        left_.layers = choice.size;
        break;
      case Form::width: left_.mlp_width = choice.size; break;
      case Form::hidden: left_.width = choice.size; break;
      case Form::head_width: left_.head_dim = choice.size; break;
      case Form::kv_heads: left_.kv_heads = choice.size; break;
      case Form::heads: left_.heads = choice.size; break;
      default: break;
    }
  }

  const PlanFile& plan_;
  const Model& model_;
  std::string file_;
  LeftSizes left_;
};

}  // namespace

void check_plan_of_model(const PlanFile& plan, const Model& model, std::string_view place) {
  PlanCheck(plan, model, place).run();
}

}  // namespace attnscope
