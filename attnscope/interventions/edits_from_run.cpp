#include "attnscope/interventions/edits_from_run.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"

namespace attnscope {
namespace {

/// The most numbers that are kept of another run.
constexpr std::int64_t kMaxNumbers = std::int64_t{1} << 28;

bool takes(const RunEdit& wanted, HookPoint point, std::int64_t layer) {
  const std::vector<std::int64_t>& layers = wanted.edit.layers;
  return wanted.edit.point == point &&
         (layers.empty() || std::binary_search(layers.begin(), layers.end(), layer));
}

/// Keeps the activations of one input that edits take.
class KeptActivations : public ForwardHooks {
 public:
  KeptActivations(const ForwardPass& pass, std::span<const RunEdit> wanted)
      : pass_(pass), wanted_(wanted) {}

  bool wants(HookPoint point, std::int64_t layer) const override {
    return std::ranges::any_of(wanted_,
                               [&](const RunEdit& each) { return takes(each, point, layer); });
  }
  bool changes(HookPoint /*point*/, std::int64_t /*layer*/) const override { return false; }

  void visit(const HookedValues& values) override {
    RunActivation& kept = kept_[{values.point, values.layer}];
    if (is_map(values.point)) {
      const MatrixView<float>& first = values.maps.front();
      kept.shape = {std::ssize(values.maps), first.rows, first.cols};
      for (const MatrixView<float>& map : values.maps) append(map, kept);
      return;
    }
    const HookShape shape = *hook_shape(pass_, values.point, values.layer);
    kept.shape = {values.values.rows, values.values.cols};
    if (shape.has_heads) {
      kept.shape = {values.values.rows, shape.axes.front(),
                    values.values.cols / shape.axes.front()};
    }
    append(values.values, kept);
  }

  /// The activations of an edit, by layer.
  std::map<std::int64_t, const RunActivation*> of(const RunEdit& wanted) const {
    std::map<std::int64_t, const RunActivation*> out;
    for (const auto& [place, kept] : kept_) {
      if (takes(wanted, place.first, place.second)) out.emplace(place.second, &kept);
    }
    return out;
  }

 private:
  static void append(MatrixView<const float> values, RunActivation& kept) {
    for (std::int64_t row = 0; row < values.rows; ++row) {
      kept.numbers.insert(kept.numbers.end(), &values(row, 0), &values(row, 0) + values.cols);
    }
  }

  const ForwardPass& pass_;
  std::span<const RunEdit> wanted_;
  std::map<std::pair<HookPoint, std::int64_t>, RunActivation> kept_;
};

/// Throws Error(usage) if the activations of an input are too large to keep.
void check_size(const ForwardPass& pass, std::span<const RunEdit> wanted, std::int64_t tokens) {
  std::map<std::pair<HookPoint, std::int64_t>, double> numbers;
  double all = 0;
  for (const RunEdit& each : wanted) {
    for (std::int64_t layer = 0; layer < pass.model().dimensions().layers; ++layer) {
      const auto shape = hook_shape(pass, each.edit.point, layer);
      if (!shape || !takes(each, each.edit.point, layer)) continue;
      const std::int64_t per_position =
          is_map(each.edit.point) ? shape->axes.front() * tokens : shape->columns();
      const double count = static_cast<double>(per_position) * static_cast<double>(tokens);
      if (numbers.emplace(std::pair(each.edit.point, layer), count).second) all += count;
      if (all <= static_cast<double>(kMaxNumbers)) continue;
      refuse_edit(each.edit, "from_run takes more than " + std::to_string(kMaxNumbers) + " numbers",
                  "select fewer layers, or use a shorter input");
    }
  }
}

std::vector<ActivationEdit> places_of(std::span<const RunEdit> wanted) {
  std::vector<ActivationEdit> places;
  for (const RunEdit& each : wanted) {
    places.push_back(each.edit);
    places.back().how = EditHow::set;
    places.back().value = {.shape = {}, .numbers = {0}};
  }
  return places;
}

/// The positions of the other run whose values the edit takes, in the order of the edit's.
std::vector<std::int64_t> positions_in_run(const RunEdit& wanted, std::int64_t tokens) {
  if (wanted.from_positions.empty()) return edited_positions(wanted.edit, tokens);
  std::vector<std::int64_t> out;
  for (const std::int64_t given : wanted.from_positions) {
    const std::int64_t position = given < 0 ? given + tokens : given;
    if (position < 0 || position >= tokens) {
      refuse_edit(wanted.edit, "from_positions has " + std::to_string(given) +
                                   ", but the run has " + counted(tokens, "token"));
    }
    out.push_back(position);
  }
  return out;
}

/// Returns the number of tokens or patches of the run. Throws Error(usage) if the input does not
/// fit the model.
std::int64_t checked_rows(const ForwardPass& pass, const ActivationEdit& first,
                          const RunInput& input) {
  const ForwardPass& reads = pass.encoder() == nullptr ? pass : *pass.encoder();
  const std::string name = verbatim(pass.model().name());
  if (pass.encoder() != nullptr && input.target.empty()) {
    refuse_edit(first, "from_run has no target for " + name, "add target or target_tokens");
  }
  if (input.media && !reads.reads_images() && !reads.reads_audio()) {
    refuse_edit(first, "from_run has an image or audio, but " + name + " reads text");
  }
  try {
    std::int64_t rows = std::ssize(input.tokens);
    if (input.media) {
      rows = reads.length_of(*input.media);
    } else {
      reads.check(input.tokens);
    }
    if (pass.encoder() == nullptr) return rows;
    pass.check(input.target);
    return std::ssize(input.target);
  } catch (const Error& error) {
    refuse_edit(first, "the input of from_run: " + error.parts().problem, error.parts().hint);
  }
}

void run_input(const ForwardPass& pass, const RunInput& input, const ForwardObserver& observer,
               const Compute& compute) {
  const std::span<const TokenIds> texts(&input.tokens, input.media ? 0 : 1);
  const std::span<const MediaInput> media(input.media ? &*input.media : nullptr,
                                          input.media ? 1 : 0);
  if (pass.encoder() != nullptr) {
    const EncoderOutput source =
        input.media ? pass.encode(media, {}, compute) : pass.encode(texts, {}, compute);
    pass.run(std::span(&input.target, 1), observer, compute, {}, &source);
  } else if (input.media) {
    pass.run(media, observer, compute);
  } else {
    pass.run(texts, observer, compute);
  }
}

}  // namespace

ActivationEdit edit_from(const RunEdit& wanted, std::int64_t layer, const RunActivation& found) {
  const bool map = is_map(wanted.edit.point);
  const bool has_heads = found.shape.size() == 3;
  const std::size_t positions_axis = map ? 1 : 0, heads_axis = map ? 0 : 1;
  const std::int64_t tokens = found.shape[positions_axis], columns = found.shape.back();
  ActivationEdit edit = wanted.edit;
  edit.how = EditHow::set;
  edit.tokens.reset();
  if (wanted.from_positions.empty()) edit.tokens = tokens;
  if (!is_of_model(edit.point)) edit.layers = {layer};
  // Without positions, an edit would also apply to generated tokens.
  if (edit.positions.empty()) edit.positions = {{.first = 0, .last = -1}};
  const std::vector<std::int64_t> rows = positions_in_run(wanted, tokens);
  if (rows.empty()) {
    refuse_edit(edit,
                "it has no position in the run of " + counted(tokens, "token") + " in from_run");
  }
  if (!has_heads && !edit.heads.empty()) {
    refuse_edit(edit, "'" + std::string(hook_name(edit.point)) + "' has no heads");
  }
  std::vector<std::int64_t> heads = edit.heads;
  const std::int64_t all_heads = has_heads ? found.shape[heads_axis] : 1;
  if (heads.empty()) {
    heads.resize(static_cast<std::size_t>(all_heads));
    std::iota(heads.begin(), heads.end(), std::int64_t{0});
  }
  for (const std::int64_t head : heads) {
    if (head < all_heads) continue;
    refuse_edit(edit, "the run in from_run has heads 0 to " + std::to_string(all_heads - 1));
  }
  EditValue& value = edit.value;
  value = {};
  const auto count = [](const std::vector<std::int64_t>& list) { return std::ssize(list); };
  if (!has_heads) {
    value.shape = {count(rows), columns};
  } else if (edit.one_head) {
    value.shape = {count(rows), columns};
  } else if (map) {
    value.shape = {count(heads), count(rows), columns};
  } else {
    value.shape = {count(rows), count(heads), columns};
  }
  const auto append = [&](std::int64_t row, std::int64_t head) {
    const std::int64_t at = map ? head * tokens + row : row * all_heads + head;
    const auto from = found.numbers.begin() + static_cast<std::ptrdiff_t>(at * columns);
    value.numbers.insert(value.numbers.end(), from, from + static_cast<std::ptrdiff_t>(columns));
  };
  for (const std::int64_t outer : map ? heads : rows) {
    for (const std::int64_t inner : map ? rows : heads) {
      map ? append(inner, outer) : append(outer, inner);
    }
  }
  return edit;
}

std::vector<std::vector<ActivationEdit>> edits_from_input(const ForwardPass& pass,
                                                          std::span<const RunEdit> wanted,
                                                          const RunInput& input,
                                                          const Compute& compute) {
  check_edits(pass, places_of(wanted));
  const std::int64_t rows = checked_rows(pass, wanted.front().edit, input);
  check_size(pass, wanted, rows);
  KeptActivations kept(pass, wanted);
  run_input(pass, input, {.hooks = &kept}, compute);
  std::vector<std::vector<ActivationEdit>> out;
  for (const RunEdit& each : wanted) {
    std::vector<ActivationEdit>& edits = out.emplace_back();
    for (const auto& [layer, found] : kept.of(each)) {
      edits.push_back(edit_from(each, layer, *found));
    }
  }
  return out;
}

}  // namespace attnscope
