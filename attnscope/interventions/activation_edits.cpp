#include "attnscope/interventions/activation_edits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

std::string shape_text(const Shape& shape) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : shape) sizes.push_back(std::to_string(size));
  return "(" + join(sizes, ", ") + ")";
}

/// Strides of a value in a part with these axes; 0 for axes that broadcast. Nothing if the value
/// does not fit.
std::optional<std::vector<std::int64_t>> strides_in(const EditValue& value, const Shape& axes) {
  if (value.shape.size() > axes.size()) return std::nullopt;
  std::vector<std::int64_t> strides(axes.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t back = 1; back <= value.shape.size(); ++back) {
    const std::int64_t size = value.shape[value.shape.size() - back];
    const std::int64_t whole = axes[axes.size() - back];
    if (size != 1 && size != whole) return std::nullopt;
    if (size != 1) strides[axes.size() - back] = stride;
    stride *= size;
  }
  return strides;
}

/// Whether the value has one entry per position of the edit.
bool has_positions(const EditValue& value, std::size_t axes) {
  return value.shape.size() == axes && value.shape.front() != 1;
}

void change(EditHow how, float value, float& x) {
  switch (how) {
    case EditHow::set: x = value; break;
    case EditHow::add: x += value; break;
    default: x *= value; break;
  }
}

/// x = x − (x · u) u, with u = direction / ‖direction‖.
void project_out(std::span<const float> direction, std::span<float> x) {
  double product = 0, squares = 0;
  for (std::size_t at = 0; at < x.size(); ++at) {
    const auto along = static_cast<double>(direction[at]);
    product += static_cast<double>(x[at]) * along;
    squares += along * along;
  }
  for (std::size_t at = 0; at < x.size(); ++at) {
    x[at] -= static_cast<float>(product / squares * static_cast<double>(direction[at]));
  }
}

std::vector<std::int64_t> all_of(std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), std::int64_t{0});
  return out;
}

/// The rows of one sequence that an edit changes, and their places among the edit's positions.
struct EditedRows {
  std::vector<std::int64_t> rows, places;
  std::int64_t positions = 0;  // selected in the prompt
};

/// `first`: position of the first row. `tokens`: number of rows. `prompt`: tokens of the prompt.
EditedRows rows_of(const ActivationEdit& edit, std::int64_t first, std::int64_t tokens,
                   std::int64_t prompt, bool per_position) {
  EditedRows out;
  if (edit.each_new) {
    for (std::int64_t row = 0; row < tokens; ++row) {
      if (first + row < prompt) continue;
      out.rows.push_back(row);
      out.places.push_back(0);
    }
    return out;
  }
  const Positions selected = edited_positions(edit, prompt);
  out.positions = std::ssize(selected);
  for (std::size_t place = 0; place < selected.size(); ++place) {
    const std::int64_t row = selected[place] - first;
    if (row < 0 || row >= tokens) continue;
    out.rows.push_back(row);
    out.places.push_back(static_cast<std::int64_t>(place));
  }
  // Without positions, an edit also applies to generated tokens.
  if (edit.positions.empty() && !per_position) {
    for (std::int64_t row = std::max<std::int64_t>(0, prompt - first); row < tokens; ++row) {
      out.rows.push_back(row);
      out.places.push_back(0);
    }
  }
  return out;
}

/// Checks an edit for a text of this number of tokens. Windows of a text may be shorter than the
/// edit's positions, but prompts may not.
void check_text(const ActivationEdit& edit, std::int64_t tokens, bool is_prompt) {
  for (const PositionRange& range : edit.positions) {
    if (is_prompt && positions_of({range}, tokens).empty()) {
      refuse_edit(edit,
                  "it has a position past the end of the text of " + counted(tokens, "token"));
    }
  }
  if (!edit.tokens || *edit.tokens == tokens) return;
  refuse_edit(edit,
              "the values come from a run of " + counted(*edit.tokens, "token") +
                  ", but this text has " + std::to_string(tokens),
              "select positions of both runs");
}

bool applies(const ActivationEdit& edit, HookPoint point, std::int64_t layer) {
  return edit.point == point &&
         (edit.layers.empty() || std::binary_search(edit.layers.begin(), edit.layers.end(), layer));
}

/// The axes of the edited part after the positions.
Shape axes_after_positions(const ActivationEdit& edit, std::int64_t heads, bool has_heads,
                           std::int64_t columns) {
  if (!has_heads || edit.one_head) return {columns};
  return {edit.heads.empty() ? heads : std::ssize(edit.heads), columns};
}

void check_value(const ActivationEdit& edit, const HookShape& shape) {
  // −∞ masks a score.
  const bool is_score =
      edit.point == HookPoint::attn_scores || edit.point == HookPoint::cross_attn_scores;
  const auto fits = [&](float x) { return std::isfinite(x) || (is_score && std::isinf(x)); };
  if (!std::ranges::all_of(edit.value.numbers, fits)) {
    refuse_edit(edit, "the value has NaN or infinite numbers");
  }
  if (is_map(edit.point)) {
    if (edit.how == EditHow::project_out) refuse_edit(edit, "attention maps have no directions");
    return;  // the sizes depend on the text
  }
  const std::int64_t last = shape.axes.back();
  const Shape inner = axes_after_positions(edit, shape.axes.front(), shape.has_heads,
                                           shape.has_heads ? last : shape.columns());
  Shape axes = inner;
  const bool own_positions = edit.value.shape.size() == inner.size() + 1;
  axes.insert(axes.begin(), own_positions ? edit.value.shape.front() : 1);
  if (!strides_in(edit.value, axes)) {
    Shape shown = inner;
    refuse_edit(edit, "the value has shape " + shape_text(edit.value.shape) +
                          ", which does not fit " + shape_text(shown) + " per position");
  }
  if (edit.how != EditHow::project_out) return;
  if (edit.value.shape.size() != 1 || edit.value.shape.front() != inner.back()) {
    refuse_edit(edit, "project_out takes a vector of " + std::to_string(inner.back()) + " numbers");
  }
  if (std::ranges::all_of(edit.value.numbers, [](float x) { return x == 0; })) {
    refuse_edit(edit, "project_out takes a vector that is not 0");
  }
}

}  // namespace

void refuse_edit(const ActivationEdit& edit, std::string problem, std::string hint) {
  throw Error(ErrorKind::usage, {.parameter = "edits",
                                 .problem = edit.where + ": " + std::move(problem),
                                 .hint = std::move(hint)});
}

Positions edited_positions(const ActivationEdit& edit, std::int64_t tokens) {
  if (edit.positions.empty()) return all_of(tokens);
  Positions selected;
  std::vector<bool> known(static_cast<std::size_t>(tokens), false);
  for (const PositionRange& range : edit.positions) {
    for (const std::int64_t position : positions_of({range}, tokens)) {
      const auto at = static_cast<std::size_t>(position);
      if (!known[at]) selected.push_back(position);
      known[at] = true;
    }
  }
  return selected;
}

void check_edits(const ForwardPass& pass, const std::vector<ActivationEdit>& edits) {
  const std::int64_t layers = pass.model().dimensions().layers;
  for (const ActivationEdit& edit : edits) {
    const std::string name = "'" + std::string(hook_name(edit.point)) + "'";
    if (edit.point == HookPoint::expert_index || edit.point == HookPoint::logits) {
      refuse_edit(edit, name + " cannot be edited",
                  edit.point == HookPoint::logits ? "edit final_norm" : "edit router_logits");
    }
    const bool altup = pass.model().spec().stream.altup.has_value();
    if (altup && (edit.point == HookPoint::resid_pre || edit.point == HookPoint::resid_post)) {
      refuse_edit(edit, name + " of a model with several residual streams cannot be edited",
                  "edit attn_out or mlp_out");
    }
    bool any = false;
    for (const std::int64_t layer : edit.layers.empty() ? all_of(layers) : edit.layers) {
      if (layer >= layers) {
        refuse_edit(
            edit, verbatim(pass.model().name()) + " has layers 0 to " + std::to_string(layers - 1));
      }
      const auto shape = hook_shape(pass, edit.point, layer);
      if (!shape) {
        if (edit.layers.empty()) continue;
        refuse_edit(edit, "layer " + std::to_string(layer) + " of " +
                              verbatim(pass.model().name()) + " has no " + name);
      }
      any = true;
      if (!edit.heads.empty() && !shape->has_heads) refuse_edit(edit, name + " has no heads");
      for (const std::int64_t head : edit.heads) {
        if (head < shape->axes.front()) continue;
        refuse_edit(edit, name + " has heads 0 to " + std::to_string(shape->axes.front() - 1));
      }
      check_value(edit, *shape);
      if (is_of_model(edit.point)) break;
    }
    if (!any) refuse_edit(edit, verbatim(pass.model().name()) + " has no " + name);
  }
}

bool EditHooks::changes(HookPoint point, std::int64_t layer) const {
  return std::ranges::any_of(
      edits_, [&](const ActivationEdit& edit) { return applies(edit, point, layer); });
}

bool EditHooks::wants(HookPoint point, std::int64_t layer) const {
  return changes(point, layer) || (next_ != nullptr && next_->wants(point, layer));
}

void EditHooks::visit(const HookedValues& values) {
  for (const ActivationEdit& each : edits_) {
    if (!applies(each, values.point, values.layer)) continue;
    if (is_map(values.point)) {
      edit_maps(each, values);
    } else {
      edit(each, values);
    }
  }
  if (next_ != nullptr && next_->wants(values.point, values.layer)) next_->visit(values);
}

void EditHooks::edit(const ActivationEdit& edit, const HookedValues& values) const {
  const HookShape shape = *hook_shape(pass_, values.point, values.layer);
  const bool has_heads = shape.has_heads;
  const std::int64_t heads = has_heads ? shape.axes.front() : 1;
  const std::int64_t columns = values.values.cols / heads;
  const Shape inner = axes_after_positions(edit, heads, has_heads, columns);
  const bool per_position = has_positions(edit.value, inner.size() + 1);
  const std::vector<std::int64_t> chosen = edit.heads.empty() ? all_of(heads) : edit.heads;
  const SequenceRows whole{.first = {0}, .length = {values.values.rows}, .past = {{}}};
  const SequenceRows& sequences = values.rows == nullptr ? whole : *values.rows;
  for (std::size_t sequence = 0; sequence < sequences.first.size(); ++sequence) {
    const std::int64_t first = values.rows == nullptr ? 0 : sequences.first_position(sequence);
    const std::int64_t tokens = sequences.length[sequence];
    const std::int64_t prompt = values.rows == nullptr ? tokens : prompt_.value_or(first + tokens);
    check_text(edit, prompt, prompt_.has_value());
    const EditedRows rows = rows_of(edit, first, tokens, prompt, per_position);
    Shape axes = inner;
    axes.insert(axes.begin(), rows.positions);
    if (edit.each_new || !per_position) axes.front() = 1;
    const auto strides = strides_in(edit.value, axes);
    if (!strides) {
      refuse_edit(edit, "the value has " + counted(edit.value.shape.front(), "position") +
                            ", but the edit selects " + std::to_string(rows.positions));
    }
    const std::size_t last = axes.size() - 1;
    for (std::size_t at = 0; at < rows.rows.size(); ++at) {
      float* row = &values.values(sequences.first[sequence] + rows.rows[at], 0);
      for (std::size_t head = 0; head < chosen.size(); ++head) {
        float* x = row + chosen[head] * columns;
        if (edit.how == EditHow::project_out) {
          project_out(edit.value.numbers, {x, static_cast<std::size_t>(columns)});
          continue;
        }
        std::int64_t from = rows.places[at] * (*strides)[0];
        if (axes.size() == 3) from += static_cast<std::int64_t>(head) * (*strides)[1];
        for (std::int64_t column = 0; column < columns; ++column) {
          const auto index = static_cast<std::size_t>(from + column * (*strides)[last]);
          change(edit.how, edit.value.numbers[index], x[column]);
        }
      }
    }
  }
}

void EditHooks::edit_maps(const ActivationEdit& edit, const HookedValues& values) const {
  const std::int64_t heads = hook_shape(pass_, values.point, values.layer)->axes.front();
  const std::vector<std::int64_t> chosen = edit.heads.empty() ? all_of(heads) : edit.heads;
  const SequenceRows& sequences = *values.rows;
  for (std::size_t sequence = 0; sequence < sequences.first.size(); ++sequence) {
    const std::int64_t first = sequences.first_position(sequence);
    const std::int64_t tokens = sequences.length[sequence];
    const std::int64_t prompt = prompt_.value_or(first + tokens);
    const bool per_query =
        edit.value.shape.size() >= 2 && edit.value.shape[edit.value.shape.size() - 2] != 1;
    check_text(edit, prompt, prompt_.has_value());
    const EditedRows rows = rows_of(edit, first, tokens, prompt, per_query);
    if (rows.rows.empty()) continue;  // generated tokens, whose maps have more keys
    for (std::size_t head = 0; head < chosen.size(); ++head) {
      const MatrixView<float>& map = values.maps[sequence * static_cast<std::size_t>(heads) +
                                                 static_cast<std::size_t>(chosen[head])];
      Shape axes = {per_query ? rows.positions : 1, map.cols};
      if (!edit.one_head) axes.insert(axes.begin(), std::ssize(chosen));
      const auto strides = strides_in(edit.value, axes);
      if (!strides) {
        refuse_edit(edit, "the value has shape " + shape_text(edit.value.shape) +
                              ", which does not fit " + shape_text(axes));
      }
      const std::int64_t of_head =
          edit.one_head ? 0 : static_cast<std::int64_t>(head) * strides->front();
      const std::int64_t of_query = (*strides)[axes.size() - 2];
      for (std::size_t at = 0; at < rows.rows.size(); ++at) {
        for (std::int64_t key = 0; key < map.cols; ++key) {
          const std::int64_t index = of_head + rows.places[at] * of_query + key * strides->back();
          float& x = map(rows.rows[at], key);
          // Masked scores stay masked: 0 · (−∞) is NaN.
          if (edit.how == EditHow::scale && std::isinf(x)) continue;
          change(edit.how, edit.value.numbers[static_cast<std::size_t>(index)], x);
        }
      }
    }
  }
}

}  // namespace attnscope
