#include "attnscope/features/predict/saved_tensors.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/predict/sentence_embedding.h"

namespace attnscope {

PromptWatcher SavedRun::watcher() {
  const auto keep_states = [this](std::int64_t, MatrixView<const float> states) {
    keep(states, hidden_states_);
  };
  const auto write_maps = [this](const LayerMaps& layer) {
    if (layer.windows.empty()) {
      for (const auto& map : layer.maps) write(map);
      return;
    }
    for (std::int64_t head = 0; head < layer.heads; ++head) {
      const Matrix<float> whole = layer.map_of_image(0, head);
      write(whole.view());
    }
  };
  PromptWatcher watcher{
      .begin = [this](const ForwardPass& pass, const TokenIds& ids,
                      std::int64_t tokens) { begin(pass, ids, tokens); },
      .observer = {.on_maps = write_maps,
                   .on_cross_maps =
                       [this](const LayerMaps& layer) {
                         for (const auto& map : layer.maps) keep(map, cross_maps_);
                       }},
      .encoder_observer = {.on_hidden_states = keep_states, .on_maps = write_maps},
      .on_logits =
          [this](MatrixView<const float> logits) {
            write_kept();
            write(logits);
          },
      .end =
          [this] {
            write_kept();
            if (sentence_modules_) file_->write(sentence_embedding_);
            file_->end();
          }};
  watcher.observer.on_hidden_states = [this](std::int64_t index, MatrixView<const float> states) {
    if (index == 0) write_kept();  // of the encoder, which has finished
    keep(states, hidden_states_);
    // The last call is that of the last hidden states.
    if (sentence_modules_) sentence_embedding_ = sentence_embedding(*sentence_modules_, states);
  };
  return watcher;
}

const MediaInput* SavedRun::media_input() const {
  if (media_input_ != nullptr) return media_input_;
  return prompt_->audio ? &*prompt_->audio : nullptr;
}

void SavedRun::begin(const ForwardPass& pass, const TokenIds& ids, std::int64_t tokens) {
  const Dimensions& dimensions = pass.model().dimensions();
  if (pass.model().spec().architecture.stages) {
    throw Error(ErrorKind::usage,
                {.parameter = "save",
                 .problem = verbatim(pass.model().name()) +
                            " has stages, whose hidden states and maps differ in size"});
  }
  const std::int64_t layers = dimensions.layers, width = dimensions.width;
  const std::vector<std::int64_t> attending = dimensions.attention_layers();
  const auto maps = std::ssize(attending);
  const bool same_width = pass.output_width() == width;
  const bool decodes = pass.encoder() != nullptr;
  const MediaInput* media_input = this->media_input();
  std::int64_t source = decodes ? std::ssize(prompt_->source) : 0;
  if (decodes && media_input != nullptr) source = pass.encoder()->length_of(*media_input);
  std::vector<SavedTensor> tensors;
  const auto add_ids = [&](const char* name, std::int64_t count) {
    tensors.push_back({.name = name, .type = DType::i64, .shape = {count}});
  };
  if (media_input != nullptr) {
    const bool is_image = media_input->shape.size() == 3;
    tensors.push_back(
        {.name = is_image ? "pixel_values" : "input_values", .shape = media_input->shape});
  } else if (decodes) {
    add_ids("source_tokens", source);
  }
  if (!ids.empty()) add_ids("tokens", tokens);
  if (maps < layers) add_ids("attention_layers", maps);
  const std::int64_t heads = dimensions.heads.heads;
  if (decodes) {
    const Dimensions& encoder = pass.encoder()->model().dimensions();
    tensors.push_back({.name = "encoder_attentions",
                       .shape = {encoder.layers, encoder.heads.heads, source, source}});
    tensors.push_back(
        {.name = "encoder_hidden_states", .shape = {encoder.layers + 1, source, encoder.width}});
  }
  tensors.push_back({.name = "attentions", .shape = {maps, heads, tokens, tokens}});
  if (decodes) {
    tensors.push_back({.name = "cross_attentions", .shape = {layers, heads, tokens, source}});
  }
  tensors.push_back(
      {.name = "hidden_states", .shape = {layers + (same_width ? 1 : 0), tokens, width}});
  if (!same_width) {
    tensors.push_back({.name = "last_hidden_state", .shape = {tokens, pass.output_width()}});
  }
  if (pass.no_logits().empty()) {
    tensors.push_back({.name = "logits", .shape = {tokens, pass.logits_width()}});
  }
  if (pass.predicts_labels()) {
    const LabelHeadWeights& head = pass.label_head();
    const std::int64_t labels = head.weight->weights.outputs();
    const bool of_text = head.task == LabelTask::sequence;
    tensors.push_back({.name = "logits", .shape = of_text ? Shape{labels} : Shape{tokens, labels}});
  }
  if (media_input_ != nullptr && pass.pooled_width() > 0) {
    const bool compares = !pass.model().spec().head.rule.score_scale.empty();
    tensors.push_back(
        {.name = compares ? "image_embedding" : "logits", .shape = {pass.pooled_width()}});
  }
  if (media_input == nullptr && !decodes) {
    sentence_modules_ = attnscope::sentence_modules(pass.model().checkpoint().folder());
  }
  if (sentence_modules_) {
    const std::int64_t poolings = std::ssize(sentence_modules_->poolings);
    tensors.push_back({.name = "sentence_embedding", .shape = {poolings * pass.output_width()}});
  }
  file_.emplace(std::move(tensors), out_);
  if (media_input != nullptr) {
    file_->write(media_input->values);
  } else if (decodes) {
    file_->write(prompt_->source);
  }
  if (!ids.empty()) file_->write(ids);
  if (maps < layers) file_->write(attending);
}

void SavedRun::keep(MatrixView<const float> rows, Spool& in) {
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    in.append({reinterpret_cast<const char*>(&rows(row, 0)),
               static_cast<std::size_t>(rows.cols) * sizeof(float)});
  }
}

void SavedRun::write_all(Spool& kept) {
  constexpr std::uint64_t kAtOnce = 1 << 20;
  std::vector<float> part;
  for (std::uint64_t at = 0; at < kept.size();) {
    const auto length = static_cast<std::size_t>(std::min(kAtOnce, kept.size() - at));
    const std::string bytes = kept.read(at, length);
    part.resize(length / sizeof(float));
    std::memcpy(part.data(), bytes.data(), length);
    // A part may contain the end of one tensor and the beginning of the next.
    file_->write(part);
    at += length;
  }
  kept = Spool(kInMemory);
}

void SavedRun::write_kept() {
  write_all(cross_maps_);
  write_all(hidden_states_);
}

void SavedRun::write(MatrixView<const float> rows) {
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    file_->write(std::span(&rows(row, 0), static_cast<std::size_t>(rows.cols)));
  }
}

}  // namespace attnscope
