#include "attnscope/features/report/sections_on_text.h"

#include <algorithm>
#include <set>
#include <utility>

#include "attnscope/features/ablate/run.h"
#include "attnscope/features/attention/command.h"
#include "attnscope/features/common/matrix_items.h"
#include "attnscope/features/common/options/target_options.h"
#include "attnscope/features/common/options/target_stacks.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/directions/text_correlation.h"
#include "attnscope/features/experts/run.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/report/models.h"
#include "attnscope/features/report/shown_maps.h"
#include "attnscope/features/report/shown_media.h"
#include "attnscope/features/report/skipped.h"

namespace attnscope {

SavedMapsRequest saved_maps_request(const ModelText& text) {
  const ReportModel& model = text.model;
  std::vector<std::int64_t> layers =
      attention_layers(model.arguments.layers("layers"), model.model);
  std::erase_if(layers, [&](std::int64_t layer) {
    return merges_before(model.model.spec(), layer) > 0;  // fewer patches than the shown image
  });
  return {.sequences = text.tokens.of_model,
          .layers = std::move(layers),
          .sources = text.tokens.sources,
          .media_inputs = text.tokens.media_inputs};
}

TextRun::TextRun(ModelText text, const Session& session)
    : text_(std::move(text)),
      session_(session),
      part_(attention_part(text_.model)),
      // Batches with scored tokens differ from the batches of routing.
      routing_(text_.model.model,
               text_.tokens.scored.empty() ? text_.tokens.of_model : std::vector<TokenIds>()) {}

void TextRun::add_rows_and_maps(const Options& options, ReportFile& file) {
  const auto sink = part_sink(part_, session_, file);
  if (!text_.note.empty()) sink->add_note(text_.note);
  NotableHeads notable(*sink);
  SavedMaps maps(text_.model.model, saved_maps_request(text_));
  add_rows(part_, routing_.watching(maps.watching(session_.context)), notable);
  try {
    add_axes(file);
    add_maps(options, maps, notable.heads(), file);
  } catch (const Error& error) {
    leave_out("maps", text_.model, error, session_, file);
  }
}

void TextRun::add_without_first(ReportFile& file) const {
  try {
    const ReportPart part = without_first_part(text_.model);
    add_rows(part, session_.context, *part_sink(part, session_, file));
  } catch (const Error& error) {
    leave_out(kExcludeFirstToken, text_.model, error, session_, file);
  }
}

void TextRun::add_routing(ReportFile& file) const {
  const Model& model = text_.model.model;
  if (model.dimensions().experts == 0) return;
  try {
    const ReportPart part = routing_part(text_.model);
    const auto sink = part_sink(part, session_, file);
    const RoutingRequest request{.layers = text_.model.arguments.layers("layers"),
                                 .sequences = {text_.tokens.of_model},
                                 .text = text_.tokens.parameters,
                                 .scored = {text_.tokens.scored}};
    Session session = session_;
    session.context = routing_.giving(session_.context);
    run_routing(std::span(&model, 1), request, StoringContext(part_arguments(part), session),
                *sink);
  } catch (const Error& error) {
    leave_out(kRouting, text_.model, error, session_, file);
  }
}

/// Whether the model predicts tokens on this input. False for media input, an encoder-decoder
/// without a target, and a bidirectional model without a mask token.
bool TextRun::predicts_tokens() const {
  const Model& model = text_.model.model;
  if (!text_.tokens.media_inputs.empty()) return false;
  if (is_of_encoder_decoder(model)) return has_target();
  return model.spec().causal || mask_of(model).has_value();
}

bool TextRun::has_target() const {
  return is_of_encoder_decoder(text_.model.model) && target_is_given(text_.model.arguments);
}

bool TextRun::has_text_correlations() const {
  std::set<std::int64_t> kinds;
  for (const TokenIds& ids : text_.tokens.of_model) kinds.insert(ids.begin(), ids.end());
  return !needs_target(text_.model.model) && std::ssize(kinds) >= kFewestKinds;
}

ReportModel TextRun::with_few_tokens() const {
  constexpr std::int64_t kTokens = 1024;
  ReportModel model = text_.model;
  const bool whole = model.arguments.given("text") || model.arguments.given("tokens") ||
                     model.arguments.given("chat");
  const bool lines = has_target() && model.arguments.given("target_file");
  if (whole || (has_target() && !lines)) return model;
  const auto windows = std::ssize(text_.tokens.of_model);
  std::int64_t tokens = 0;
  for (const TokenIds& ids : text_.tokens.of_model) tokens += std::ssize(ids);
  const std::int64_t few = std::min(windows, std::max<std::int64_t>(2, kTokens * windows / tokens));
  model.arguments = model.arguments.with("sequences", few);
  if (lines || model.arguments.flag("lines")) return model;  // each line has its own length
  const auto length = std::ssize(text_.tokens.of_model.front());
  model.arguments = model.arguments.with("length", length);
  return model;
}

ReportModel TextRun::for_names() const {
  if (!text_.model.arguments.given("target_file")) return with_few_tokens();
  constexpr std::string_view kOfLines[] = {"target_file", "sequences", "seed", "consecutive"};
  ReportModel model = text_.model;
  model.arguments = model.arguments.without(kOfLines);
  return model;
}

std::optional<Error> TextRun::add_lens(ReportFile& file) const {
  // Only the residual stream of the decoder reaches the unembedding.
  if (!predicts_tokens() || (has_target() && text_.model.model.stack() != "decoder"))
    return std::nullopt;
  const ReportModel model = with_few_tokens();
  try {
    fill_part(lens_part(model), session_, file);
    constexpr std::size_t kShownTokens = 24;
    const std::span<const std::int64_t> tokens(text_.tokens.of_model.front());
    const TokenIds source = has_target() ? text_.tokens.sources.front() : TokenIds();
    fill_part(lens_grid_part(model, tokens.first(std::min(kShownTokens, tokens.size())), source),
              session_, file);
  } catch (const Error& error) {
    leave_out(kLens, model, error, session_, file);
    return error;
  }
  return std::nullopt;
}

std::optional<Error> TextRun::add_ablations(Effort effort, ReportFile& file) const {
  if (!predicts_tokens()) return std::nullopt;
  constexpr double kCheap = 2e12;  // FLOPs: a few seconds
  const ReportModel model = with_few_tokens();
  const auto windows = model.arguments.integer("sequences").value_or(1);
  const std::int64_t length = text_rows(text_.tokens.of_model).longest;
  std::int64_t source = 0;
  if (has_target()) {
    const auto& sources =
        text_.tokens.sources;  // empty for the encoder, whose own text is the source
    source = text_rows(sources.empty() ? text_.tokens.of_model : sources).longest;
  }
  const auto takes_long = [&](const char* parts) {
    return effort == Effort::cheap &&
           ablate_flops(model.model, parts, windows, length, source) > kCheap;
  };
  try {
    const ReportPart all = ablate_part(model, "all");
    if (!takes_long("all")) {
      fill_part(all, session_, file);
      return std::nullopt;
    }
    const bool nothing = takes_long("layers");
    file.add_left_out(
        {.part = kAblate,
         .model = all.model,
         .why = "too slow: ablation of each " + std::string(nothing ? "component" : "head") + "",
         .command = part_line(all, session_)});
    if (!nothing) fill_part(ablate_part(model, "layers"), session_, file);
  } catch (const Error& error) {
    leave_out(kAblate, model, error, session_, file);
    return error;
  }
  return std::nullopt;
}

std::optional<Error> TextRun::add_head_sets(ReportFile& file) const {
  if (!predicts_tokens()) return std::nullopt;
  const ReportModel model = with_few_tokens();
  for (const ReportPart& part : {cumulative_part(model), pairs_part(model)}) {
    try {
      fill_part(part, session_, file);
    } catch (const Error& error) {
      leave_out(part.id.c_str(), model, error, session_, file);
      return error;
    }
  }
  return std::nullopt;
}

/// Adds the rows of the command, computed on the tokens at hand.
void TextRun::add_rows(const ReportPart& part, const Context& context, RowSink& sink) const {
  const Arguments arguments = part_arguments(part);
  Session session = session_;
  session.context = context;
  AttentionRequest request = attention_request(arguments);
  add_sequences(request, text_.tokens, sink);
  run_attention(std::span(&text_.model.model, 1), request, StoringContext(arguments, session),
                sink);
}

/// Adds the tokens or patches that the queries and keys of the maps stand for.
void TextRun::add_axes(ReportFile& file) const {
  const Model& model = text_.model.model;
  const bool across = model.stack() == "cross";
  const bool of_media = text_.tokens.of_model.empty();
  if (of_media) return add_media_input(model, text_.tokens.media_inputs.front(), file);
  std::optional<Tokenizer> of_ids;
  if (!text_.tokens.tokenizer) of_ids = shown_tokens_of(model).tokenizer;
  const Tokenizer* tokenizer = of_ids ? &*of_ids : text_.tokens.tokenizer.get();
  const auto shown = [&](const TokenIds& ids) {
    ShownText text{.ids = ids};
    if (tokenizer == nullptr) return text;
    for (const std::int64_t id : ids) text.texts.push_back(tokenizer->text(id));
    return text;
  };
  ShownText source;
  if (across && !text_.tokens.sources.empty()) source = shown(text_.tokens.sources.front());
  if (across && !text_.tokens.media_inputs.empty()) {
    source = shown_frames(text_.tokens.media_inputs.front(),
                          map_size(model, saved_maps_request(text_)).keys);
  }
  file.add_text(model.name(), shown(text_.tokens.of_model.front()), source);
}

/// Adds the maps of the first sequence.
void TextRun::add_maps(const Options& options, SavedMaps& maps, std::vector<HeadIndex> notable,
                       ReportFile& file) const {
  const Model& model = text_.model.model;
  const std::int64_t room = kMapBytes / static_cast<std::int64_t>(options.models);
  const MapSize size = map_size(model, saved_maps_request(text_));
  MapKeeper keeper(text_.model, std::ssize(maps.layers()), size, room, std::move(notable), file);
  auto layer = maps.layers().begin();
  maps.give(session_.context, [&](std::span<const float> of_layer) {
    keeper.take(*layer, of_layer);
    if (options.take) options.take(model, *layer, size, of_layer);
    ++layer;
  });
  const ReportModel& shown = text_.model;
  const std::vector<std::int64_t> all =
      attention_layers(shown.arguments.layers("layers"), shown.model);
  if (all.size() > maps.layers().size()) {
    file.add_left_out({.part = "maps",
                       .model = model.name(),
                       .why = "the layers from " + std::to_string(all[maps.layers().size()]) +
                              " on follow patch merging, and their maps are not shown",
                       .command = ""});
  }
  if (keeper.small() == 0) return;
  file.add_left_out(
      {.part = "maps",
       .model = model.name(),
       .why = std::to_string(keeper.small()) + " maps are too large and are shown at reduced size",
       .command = whole_map_line(keeper.first_small())});
}

/// The command line that shows one map at full size: in a report, or in a separate file if it is
/// too large. Empty if neither is possible.
std::string TextRun::whole_map_line(const HeadIndex& head) const {
  const auto [queries, keys] = map_size(text_.model.model, saved_maps_request(text_));
  if (queries * keys <= kMapBytes) return page_line(text_.model, head, session_);
  if (!text_.tokens.media_inputs.empty()) return "";
  ReportPart kept = part_;
  kept.arguments.emplace_back("maps", "maps.safetensors");
  return part_line(kept, session_);
}

}  // namespace attnscope
