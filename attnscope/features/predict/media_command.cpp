#include "attnscope/features/predict/media_command.h"

#include <optional>
#include <string>
#include <utility>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/features/common/options/media_options.h"
#include "attnscope/features/common/options/text_options.h"
#include "attnscope/features/framework/session.h"
#include "attnscope/features/predict/image_run.h"
#include "attnscope/features/predict/saved_tensors.h"

namespace attnscope {
namespace {

/// The lines of a text, as inputs of a text stack.
std::vector<Caption> captions_of(const Arguments& arguments, const Session& session,
                                 const Model& texts) {
  const Tokenizer tokenizer = tokenizer_of(texts);
  std::vector<Caption> captions;
  for (const std::string& line : split(text_to_encode(arguments, session), '\n')) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Caption caption{.text = line, .tokens = tokenizer.encode(line, /*special=*/true)};
    const auto length = static_cast<std::size_t>(texts.dimensions().context.value_or(0));
    // Models that pool the last position were trained on texts of one length.
    if (texts.spec().head.rule.pooling == Pooling::last && caption.tokens.size() < length) {
      caption.tokens.resize(length, texts.spec().stream.padding_token);
    }
    captions.push_back(std::move(caption));
  }
  return captions;
}

/// The text stack of the same model as this vision stack; null if there is none.
const Model* text_tower_of(const Model& images, const std::vector<Model>& models) {
  for (const Model& model : models) {
    const bool same = model.shared_checkpoint() == images.shared_checkpoint();
    if (same && !model.spec().stream.patches && !model.spec().stream.audio) return &model;
  }
  return nullptr;
}

}  // namespace

MediaInput media_input_of(const Arguments& arguments, const Session& session, const Model& model) {
  std::vector<MediaInput> media_inputs = media_inputs_of(arguments, session, model);
  if (media_inputs.size() == 1) return std::move(media_inputs.front());
  throw Error(ErrorKind::usage, {.file = arguments.text(named_media_parameter(arguments)),
                                 .problem = "contains " + std::to_string(media_inputs.size()) +
                                            " inputs, expected one"});
}

void run_on_media(const Arguments& arguments, const Session& session,
                  const std::vector<Model>& models, const std::vector<Model>& opened,
                  const Context& context, RowSink& sink) {
  if (models.size() > 1 && arguments.given("save")) {
    throw Error(ErrorKind::usage, {.parameter = "save",
                                   .problem = "expected one model: a .safetensors file stores a "
                                              "single run"});
  }
  ImagePredictRequest request{.source = media_source(arguments), .top = *arguments.integer("top")};
  const bool asks_texts = arguments.given("text") || arguments.given("text_file");
  for (const Model& model : models) {
    ImageQuestion& question = request.questions.emplace_back();
    question.image = media_input_of(arguments, session, model);
    if (!asks_texts) continue;
    question.texts = text_tower_of(model, opened);
    if (question.texts == nullptr) {
      throw Error(ErrorKind::usage, {.parameter = arguments.given("text") ? "text" : "text_file",
                                     .problem = "cannot be combined with an image or audio "
                                                "input: " +
                                                verbatim(model.name()) + " has no text stack"});
    }
    question.captions = captions_of(arguments, session, *question.texts);
  }
  std::optional<SavedRun> saved;
  PromptWatcher watcher;
  if (arguments.given("save")) {
    saved.emplace(request.questions.front().image, open_output(arguments, session, "save"));
    watcher = saved->watcher();
    request.watcher = &watcher;
  }
  run_image_prediction(models, request, context, sink);
}

}  // namespace attnscope
