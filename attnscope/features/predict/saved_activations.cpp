#include "attnscope/features/predict/saved_activations.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/tensor/encode.h"

namespace attnscope {
namespace {

[[noreturn]] void refuse(const char* parameter, std::string problem, std::string hint = "") {
  throw Error(ErrorKind::usage,
              {.parameter = parameter, .problem = std::move(problem), .hint = std::move(hint)});
}

std::string quoted(HookPoint point) { return "'" + std::string(hook_name(point)) + "'"; }

/// Names of the activations that some layer of the model has.
std::string available_names(const ForwardPass& pass) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < hook_names().size(); ++at) {
    const auto point = static_cast<HookPoint>(at);
    bool any = false;
    for (std::int64_t layer = 0; layer < pass.model().dimensions().layers; ++layer) {
      any = any || hook_shape(pass, point, layer).has_value();
    }
    if (any) names.emplace_back(hook_name(point));
  }
  return join(names, ", ");
}

/// The requested layers that have the activation, and its shape in all of them.
struct LayersOfPoint {
  std::vector<std::int64_t> layers;
  HookShape shape;
};

LayersOfPoint layers_of(const ForwardPass& pass, const NamedActivations& request, HookPoint point) {
  const Model& model = pass.model();
  LayersOfPoint out;
  if (is_of_model(point)) {
    const auto shape = hook_shape(pass, point, 0);
    if (!shape) {
      refuse("activations",
             verbatim(model.name()) + " has no " + quoted(point) +
                 (point == HookPoint::logits ? ": " + verbatim(pass.no_logits())
                                             : ": its last layer is followed by no norm"));
    }
    out.shape = *shape;
    return out;
  }
  std::optional<std::int64_t> first;
  for (const std::int64_t layer : request.layers.resolve(model.dimensions().layers, model.name())) {
    const auto shape = hook_shape(pass, point, layer);
    if (!shape) continue;
    if (first && shape->axes != out.shape.axes) {
      refuse("activations",
             quoted(point) + " has different shapes in layers " + std::to_string(*first) + " and " +
                 std::to_string(layer) + " of " + verbatim(model.name()),
             "select layers of one shape with {layers}");
    }
    if (!first) first = layer;
    out.shape = *shape;
    out.layers.push_back(layer);
  }
  if (out.layers.empty()) {
    const bool some = !request.layers.ranges.empty();
    refuse("activations",
           std::string(some ? "no selected layer of " : "") + verbatim(model.name()) + " has " +
               (some ? "" : "no ") + quoted(point),
           "it has " + available_names(pass));
  }
  return out;
}

std::vector<std::int64_t> heads_of(const NamedActivations& request, HookPoint point,
                                   const HookShape& shape) {
  if (!shape.has_heads) return {};
  const std::int64_t heads = shape.axes.front();
  std::vector<std::int64_t> out;
  if (request.heads.ranges.empty()) {
    out.resize(static_cast<std::size_t>(heads));
    std::iota(out.begin(), out.end(), std::int64_t{0});
    return out;
  }
  for (const LayerRange& range : request.heads.ranges) {
    const std::int64_t first = range.first < 0 ? range.first + heads : range.first;
    const std::int64_t last = range.last < 0 ? range.last + heads : range.last;
    if (first < 0 || last >= heads || first > last) {
      refuse("heads", "'" + range.text() + "': " + quoted(point) + " has heads 0 to " +
                          std::to_string(heads - 1));
    }
    for (std::int64_t head = first; head <= last; ++head) out.push_back(head);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Number of encoder outputs of an encoder-decoder; otherwise 0.
std::int64_t source_rows(const ForwardPass& pass, const Prompt& prompt) {
  if (pass.encoder() == nullptr) return 0;
  return prompt.audio ? pass.encoder()->length_of(*prompt.audio) : std::ssize(prompt.source);
}

/// The type of integers with the size of the dtype, so that all elements are aligned.
DType integers_like(DType dtype) { return dtype == DType::f32 ? DType::i32 : DType::i16; }

}  // namespace

PromptWatcher SavedActivations::watcher() {
  PromptWatcher watcher{.begin = [this](const ForwardPass& pass, const TokenIds& ids,
                                        std::int64_t tokens) { begin(pass, ids, tokens); },
                        .observer = {.hooks = this},
                        .end = [this] { end(); }};
  const auto& points = request_.points;
  if (std::find(points.begin(), points.end(), HookPoint::logits) != points.end()) {
    watcher.on_logits = [this](MatrixView<const float> logits) { take_logits(logits); };
  }
  return watcher;
}

std::size_t SavedActivations::index_of(HookPoint point) const {
  const auto found = std::find_if(saved_.begin(), saved_.end(),
                                  [&](const Saved& each) { return each.point == point; });
  return static_cast<std::size_t>(found - saved_.begin());
}

bool SavedActivations::wants(HookPoint point, std::int64_t layer) const {
  const std::size_t index = index_of(point);
  if (index == saved_.size()) return false;
  const std::vector<std::int64_t>& layers = saved_[index].layers;
  return is_of_model(point) || std::binary_search(layers.begin(), layers.end(), layer);
}

bool SavedActivations::changes(HookPoint, std::int64_t) const { return false; }

std::string SavedActivations::name_in_file(std::string_view name, std::size_t text) const {
  return std::string(name) + (prompts_.size() == 1 ? "" : "." + std::to_string(text));
}

Positions SavedActivations::selected(std::int64_t tokens) const {
  if (!request_.positions.empty()) return positions_of(request_.positions, tokens);
  Positions all(static_cast<std::size_t>(tokens));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return all;
}

SavedTensor SavedActivations::tensor_of(const Saved& saved, std::int64_t tokens,
                                        std::int64_t source) const {
  SavedTensor tensor{.name = std::string(hook_name(saved.point)), .type = request_.dtype};
  if (saved.point == HookPoint::expert_index) tensor.type = integers_like(request_.dtype);
  if (!is_of_model(saved.point)) tensor.shape.push_back(std::ssize(saved.layers));
  const std::int64_t positions = saved.shape.of_source ? source : std::ssize(selected(tokens));
  Shape axes = saved.shape.axes;
  if (saved.shape.has_heads) axes.front() = std::ssize(saved.heads);
  if (is_map(saved.point)) {
    const bool across =
        saved.point == HookPoint::cross_attn_scores || saved.point == HookPoint::cross_pattern;
    axes.push_back(positions);
    axes.push_back(across ? source : tokens);
  } else {
    axes.insert(axes.begin(), positions);
  }
  tensor.shape.insert(tensor.shape.end(), axes.begin(), axes.end());
  return tensor;
}

std::vector<SavedTensor> SavedActivations::tensors_of_text(std::int64_t tokens,
                                                           std::int64_t source) const {
  std::vector<SavedTensor> tensors;
  for (const Saved& saved : saved_) tensors.push_back(tensor_of(saved, tokens, source));
  return tensors;
}

/// Writes the header, and the tensors that are known before the run.
void SavedActivations::open(const ForwardPass& pass, const TokenIds& ids) {
  for (const HookPoint point : request_.points) {
    LayersOfPoint found = layers_of(pass, request_, point);
    std::vector<std::int64_t> heads = heads_of(request_, point, found.shape);
    saved_.push_back({point, std::move(found.shape), std::move(found.layers), std::move(heads)});
  }
  const auto has_heads = [](const Saved& saved) { return saved.shape.has_heads; };
  if (!request_.heads.ranges.empty() && std::ranges::none_of(saved_, has_heads)) {
    refuse("heads", "none of the activations has heads");
  }
  const bool one = prompts_.size() == 1;  // its ids may end with a language, which is in `ids`
  std::vector<SavedTensor> tensors;
  const auto add_integers = [&](std::string name, std::int64_t count) {
    tensors.push_back({.name = std::move(name), .type = DType::i64, .shape = {count}});
  };
  const auto tokens_of = [&](std::size_t text) -> const TokenIds& {
    return one ? ids : prompts_[text].tokens;
  };
  const auto is_part = [&](const Saved& saved) {
    return !is_of_model(saved.point) && std::ssize(saved.layers) < pass.model().dimensions().layers;
  };
  for (std::size_t text = 0; text < prompts_.size(); ++text) {
    add_integers(name_in_file("tokens", text), std::ssize(tokens_of(text)));
    if (request_.positions.empty()) continue;
    const Positions positions = selected(std::ssize(tokens_of(text)));
    if (positions.empty()) {
      refuse("positions", "no selected position exists in a text of " +
                              counted(tokens_of(text).size(), "token"));
    }
    add_integers(name_in_file("positions", text), std::ssize(positions));
  }
  for (const Saved& saved : saved_) {
    const std::string name(hook_name(saved.point));
    if (is_part(saved)) add_integers(name + ".layers", std::ssize(saved.layers));
    if (!saved.heads.empty() && !request_.heads.ranges.empty()) {
      add_integers(name + ".heads", std::ssize(saved.heads));
    }
  }
  for (std::size_t text = 0; text < prompts_.size(); ++text) {
    for (SavedTensor& tensor :
         tensors_of_text(std::ssize(tokens_of(text)), source_rows(pass, prompts_[text]))) {
      tensor.name = name_in_file(tensor.name, text);
      tensors.push_back(std::move(tensor));
    }
  }
  file_.emplace(std::move(tensors), out_);
  for (std::size_t text = 0; text < prompts_.size(); ++text) {
    file_->write(tokens_of(text));
    if (!request_.positions.empty()) file_->write(selected(std::ssize(tokens_of(text))));
  }
  for (const Saved& saved : saved_) {
    if (is_part(saved)) file_->write(saved.layers);
    if (!saved.heads.empty() && !request_.heads.ranges.empty()) file_->write(saved.heads);
  }
}

void SavedActivations::begin(const ForwardPass& pass, const TokenIds& ids, std::int64_t tokens) {
  if (!file_) open(pass, ids);
  positions_ = selected(tokens);
  tensors_ = tensors_of_text(tokens, source_rows(pass, prompts_[text_]));
  logits_row_ = 0;
  next_ = 0;
  waiting_.clear();
  for (const SavedTensor& tensor : tensors_) {
    waiting_.emplace_back().left = saved_bytes(tensor);
  }
}

void SavedActivations::visit(const HookedValues& values) {
  const std::size_t index = index_of(values.point);
  if (is_map(values.point)) return take_maps(index, values.maps);
  if (values.point == HookPoint::expert_index) return take_indices(index, values.indices);
  if (!saved_[index].shape.of_source) return take_rows(index, values.values, positions_);
  Positions all(static_cast<std::size_t>(values.values.rows));
  std::iota(all.begin(), all.end(), std::int64_t{0});
  take_rows(index, values.values, all);
}

void SavedActivations::take_rows(std::size_t index, MatrixView<const float> values,
                                 std::span<const std::int64_t> rows) {
  const Saved& saved = saved_[index];
  const bool has_heads = saved.shape.has_heads;
  const std::int64_t columns = has_heads ? values.cols / saved.shape.axes.front() : values.cols;
  const bool all_heads = !has_heads || std::ssize(saved.heads) == saved.shape.axes.front();
  const bool contiguous = values.row_stride == values.cols;
  if (all_heads && contiguous && std::ssize(rows) == values.rows) {
    return give(index, {values.data, static_cast<std::size_t>(values.rows * values.cols)});
  }
  buffer_.clear();
  for (const std::int64_t row : rows) {
    const float* from = &values(row, 0);
    if (all_heads) {
      buffer_.insert(buffer_.end(), from, from + values.cols);
      continue;
    }
    for (const std::int64_t head : saved.heads) {
      buffer_.insert(buffer_.end(), from + head * columns, from + (head + 1) * columns);
    }
  }
  give(index, buffer_);
}

void SavedActivations::take_maps(std::size_t index, std::span<const MatrixView<float>> maps) {
  for (const std::int64_t head : saved_[index].heads) {
    const MatrixView<float>& map = maps[static_cast<std::size_t>(head)];
    for (const std::int64_t row : positions_) {
      give(index, {&map(row, 0), static_cast<std::size_t>(map.cols)});
    }
  }
}

void SavedActivations::take_indices(std::size_t index, std::span<const std::int64_t> experts) {
  const DType type = integers_like(request_.dtype);
  const auto chosen = static_cast<std::size_t>(saved_[index].shape.axes.front());
  const auto write = [&]<class Integer>(Integer) {
    std::vector<Integer> row(chosen);
    for (const std::int64_t position : positions_) {
      const auto own = experts.subspan(static_cast<std::size_t>(position) * chosen, chosen);
      std::transform(own.begin(), own.end(), row.begin(),
                     [](std::int64_t expert) { return static_cast<Integer>(expert); });
      give_bytes(index, type, std::as_bytes(std::span(row)));
    }
  };
  if (type == DType::i32) {
    write(std::int32_t{});
  } else {
    write(std::int16_t{});
  }
}

/// Takes the next block of logits.
void SavedActivations::take_logits(MatrixView<const float> logits) {
  const std::size_t index = index_of(HookPoint::logits);
  Positions rows;
  for (const std::int64_t position : positions_) {
    if (position >= logits_row_ && position < logits_row_ + logits.rows) {
      rows.push_back(position - logits_row_);
    }
  }
  logits_row_ += logits.rows;
  take_rows(index, logits, rows);
}

void SavedActivations::give(std::size_t index, std::span<const float> values) {
  if (request_.dtype == DType::f32) return give_bytes(index, DType::f32, std::as_bytes(values));
  constexpr float kLargestFloat16 = 65504;
  for (const float value : values) {
    if (request_.dtype == DType::bf16 || !std::isfinite(value)) continue;
    if (std::fabs(value) <= kLargestFloat16) continue;
    refuse("dtype",
           quoted(saved_[index].point) + " has the value " + std::to_string(value) +
               ", which float16 cannot store",
           "use bfloat16 or float32");
  }
  const std::vector<double> wide(values.begin(), values.end());
  give_bytes(index, request_.dtype, encode(wide, request_.dtype));
}

void SavedActivations::give_bytes(std::size_t index, DType type, std::span<const std::byte> bytes) {
  Waiting& waiting = waiting_[index];
  waiting.left -= bytes.size();
  if (index == next_ && waiting.bytes.size() == 0) {
    file_->write(type, bytes);
    if (waiting.left == 0) write_complete();
    return;
  }
  waiting.bytes.append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (index == next_) write_complete();
}

/// Writes what waits of the next tensors, up to the first one that is not complete.
void SavedActivations::write_complete() {
  constexpr std::uint64_t kAtOnce = 1 << 20;
  for (; next_ < waiting_.size(); ++next_) {
    Waiting& waiting = waiting_[next_];
    for (std::uint64_t at = 0; at < waiting.bytes.size();) {
      const auto length = static_cast<std::size_t>(std::min(kAtOnce, waiting.bytes.size() - at));
      const std::string part = waiting.bytes.read(at, length);
      file_->write(tensors_[next_].type, std::as_bytes(std::span(part)));
      at += length;
    }
    waiting.bytes = Spool();
    if (waiting.left > 0) return;
  }
}

void SavedActivations::end() {
  write_complete();
  if (++text_ == prompts_.size()) file_->end();
}

}  // namespace attnscope
