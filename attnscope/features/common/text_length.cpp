#include "attnscope/features/common/text_length.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace attnscope {
namespace {

std::vector<std::string> notes_of(const ForwardPass& pass, std::int64_t longest,
                                  std::span<const TokenIds> sources) {
  std::vector<std::string> notes = {past_context_note(pass, longest)};
  if (pass.encoder() != nullptr) {
    notes.push_back(past_context_note(*pass.encoder(), text_rows(sources).longest));
  }
  std::erase(notes, "");
  return notes;
}

}  // namespace

std::int64_t context_of(const ForwardPass& pass) {
  return std::min(pass.longest(), pass.model().dimensions().context.value_or(pass.longest()));
}

std::string past_context_note(const ForwardPass& pass, std::int64_t tokens) {
  const Model& model = pass.model();
  const auto context = model.dimensions().context;
  // Learned position embeddings are limited, and longer texts are refused there.
  constexpr auto kNoEnd = std::numeric_limits<std::int64_t>::max();
  if (!context || tokens <= *context || pass.longest() < kNoEnd) return "";
  return model.name() + ": the text has " + std::to_string(tokens) +
         " tokens, but the model's context is " + std::to_string(*context) +
         "; the model may not have been trained on the positions beyond";
}

std::vector<std::string> past_context_notes(const ForwardPass& pass, const BatchInputs& inputs) {
  return notes_of(pass, text_rows(inputs.tokens).longest, inputs.sources);
}

void note_past_context(const ForwardPass& pass, const BatchInputs& inputs, RowSink& sink) {
  for (std::string& note : past_context_notes(pass, inputs)) sink.add_note(std::move(note));
}

void note_past_context(const ForwardPass& pass, const std::vector<TokenIds>& sequences,
                       const std::vector<TokenIds>& sources, RowSink& sink) {
  const std::int64_t not_run = sources.empty() ? 0 : 1;
  for (std::string& note : notes_of(pass, text_rows(sequences).longest - not_run, sources)) {
    sink.add_note(std::move(note));
  }
}

}  // namespace attnscope
