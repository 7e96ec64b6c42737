#include "attnscope/commands/saved_run.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace attnscope {

PromptWatcher SavedRun::watcher() {
  return {.begin = [this](const ForwardPass& pass, std::int64_t tokens) { begin(pass, tokens); },
          .observer = {.on_hidden_states = [this](std::int64_t,
                                                  MatrixView<const float> states) { keep(states); },
                       .on_maps =
                           [this](const LayerMaps& layer) {
                             for (const auto& map : layer.maps) write(map);
                           }},
          .on_logits =
              [this](MatrixView<const float> logits) {
                write_kept();
                write(logits);
              },
          .end =
              [this] {
                write_kept();
                file_->end();
              }};
}

SavedTensor SavedRun::input(std::int64_t tokens) const {
  if (signal_ != nullptr) {
    const bool is_image = signal_->shape.size() == 3;
    return {.name = is_image ? "pixel_values" : "input_values", .shape = signal_->shape};
  }
  return {.name = "tokens", .type = SavedTensor::Type::int64, .shape = {tokens}};
}

void SavedRun::begin(const ForwardPass& pass, std::int64_t tokens) {
  const Dimensions& dimensions = pass.model().dimensions();
  const std::int64_t layers = dimensions.layers, width = dimensions.width;
  const std::vector<std::int64_t> attending = dimensions.attention_layers();
  const auto maps = std::ssize(attending);
  const bool same_width = pass.output_width() == width;
  std::vector<SavedTensor> tensors = {input(tokens)};
  if (maps < layers) {
    tensors.push_back(
        {.name = "attention_layers", .type = SavedTensor::Type::int64, .shape = {maps}});
  }
  tensors.push_back(
      {.name = "attentions", .shape = {maps, dimensions.heads.heads, tokens, tokens}});
  tensors.push_back(
      {.name = "hidden_states", .shape = {layers + (same_width ? 1 : 0), tokens, width}});
  if (!same_width) {
    tensors.push_back({.name = "last_hidden_state", .shape = {tokens, pass.output_width()}});
  }
  if (pass.no_logits().empty()) {
    tensors.push_back({.name = "logits", .shape = {tokens, pass.logits_width()}});
  }
  if (signal_ != nullptr && pass.pooled_width() > 0) {
    const bool compares = !pass.model().spec().head.rule.score_scale.empty();
    tensors.push_back(
        {.name = compares ? "image_embedding" : "logits", .shape = {pass.pooled_width()}});
  }
  file_.emplace(std::move(tensors), out_);
  if (signal_ != nullptr) {
    file_->write(signal_->values);
  } else {
    file_->write(*tokens_);
  }
  if (maps < layers) file_->write(attending);
}

void SavedRun::keep(MatrixView<const float> states) {
  for (std::int64_t row = 0; row < states.rows; ++row) {
    hidden_states_.append({reinterpret_cast<const char*>(&states(row, 0)),
                           static_cast<std::size_t>(states.cols) * sizeof(float)});
  }
}

void SavedRun::write_kept() {
  constexpr std::uint64_t kAtOnce = 1 << 20;
  std::vector<float> part;
  for (std::uint64_t at = 0; at < hidden_states_.size();) {
    const auto length = static_cast<std::size_t>(std::min(kAtOnce, hidden_states_.size() - at));
    const std::string bytes = hidden_states_.read(at, length);
    part.resize(length / sizeof(float));
    std::memcpy(part.data(), bytes.data(), length);
    // A part may hold the end of one tensor and the begin of the next.
    file_->write(part);
    at += length;
  }
  hidden_states_ = Spool();
}

void SavedRun::write(MatrixView<const float> rows) {
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    file_->write(std::span(&rows(row, 0), static_cast<std::size_t>(rows.cols)));
  }
}

}  // namespace attnscope
