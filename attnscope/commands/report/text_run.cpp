#include "attnscope/commands/report/text_run.h"

#include "attnscope/analyses/kept_maps.h"
#include "attnscope/commands/attention.h"
#include "attnscope/commands/report/left_out.h"
#include "attnscope/commands/report/map_keeper.h"
#include "attnscope/commands/report/notable_heads.h"
#include "attnscope/commands/report/report_lines.h"
#include "attnscope/core/error.h"

namespace attnscope {

TextRun::TextRun(const ReportModel& model, const Session& session)
    : model_(model),
      session_(session),
      part_(attention_part(model)),
      text_(token_sequences(part_arguments(part_), session, model.model)) {}

void TextRun::add_rows_and_maps(const Options& options, ReportFile& file) const {
  const auto sink = part_sink(part_, session_, file);
  if (!options.note.empty()) sink->add_note(options.note);
  NotableHeads notable(*sink);
  add_rows(part_, notable);
  try {
    add_tokens(file);
    add_maps(options, notable.heads(), file);
  } catch (const Error& error) {
    leave_out("maps", model_, error, session_, file);
  }
}

void TextRun::add_without_first(ReportFile& file) const {
  try {
    const ReportPart part = without_first_part(model_);
    add_rows(part, *part_sink(part, session_, file));
  } catch (const Error& error) {
    leave_out(kWithoutFirst, model_, error, session_, file);
  }
}

/// As the part's command would, on the tokens that there are.
void TextRun::add_rows(const ReportPart& part, RowSink& sink) const {
  const Arguments arguments = part_arguments(part);
  AttentionRequest request = attention_request(arguments);
  add_sequences(request, text_, sink);
  run_attention(std::span(&model_.model, 1), request, StoringContext(arguments, session_), sink);
}

void TextRun::add_tokens(ReportFile& file) const {
  const TokenIds& tokens = text_.of_model.front();
  std::vector<std::string> texts;
  if (const auto tokenizer = Tokenizer::find(model_.model.checkpoint().folder())) {
    for (const std::int64_t id : tokens) texts.push_back(tokenizer->text(id));
  }
  file.add_text(model_.model.name(), tokens, texts);
}

/// Of the first sequence.
void TextRun::add_maps(const Options& options, std::vector<HeadPlace> notable,
                       ReportFile& file) const {
  const Model& model = model_.model;
  const std::vector<std::int64_t> layers =
      model_.arguments.layers("layers").resolve(model.dimensions().layers, model.name());
  const std::int64_t room = kMapBytes / static_cast<std::int64_t>(options.models);
  MapKeeper keeper(model_, std::ssize(layers), std::ssize(text_.of_model.front()), room,
                   std::move(notable), file);
  const KeptMapsRequest request{.sequences = std::span(text_.of_model).first(1), .layers = layers};
  auto layer = layers.begin();
  keep_maps(model, request, session_.context, [&](std::span<const float> maps) {
    keeper.take(*layer, maps);
    if (options.take) options.take(model, *layer, maps);
    ++layer;
  });
  if (keeper.small() == 0) return;
  file.add_left_out({.part = "maps",
                     .model = model.name(),
                     .why = std::to_string(keeper.small()) +
                            " do not fit whole, and stand here as small pictures",
                     .command = whole_map_line(keeper.first_small())});
}

/// The command that shows one more map whole: on the page, or in a file of its own where it is too
/// large for that.
std::string TextRun::whole_map_line(const HeadPlace& head) const {
  const std::int64_t tokens = std::ssize(text_.of_model.front());
  if (tokens * tokens <= kMapBytes) return page_line(model_, head, session_);
  ReportPart kept = part_;
  kept.arguments.emplace_back("maps", "maps.safetensors");
  return part_line(kept, session_);
}

}  // namespace attnscope
