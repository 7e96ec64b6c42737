#include "attnscope/commands/latent_text_parameters.h"

#include <string>
#include <utility>

#include "attnscope/commands/shared_parameters.h"
#include "attnscope/commands/text_parameters.h"
#include "attnscope/commands/token_sequences.h"

namespace attnscope {

Parameters latent_text_parameters() {
  Parameters parameters = joined({text_parameters(), window_parameters()});
  for (Parameter& parameter : parameters) {
    if (parameter.name != "text") continue;
    parameter.help =
        "of models with latents: a text, on which the mean of what a latent's norm divides by "
        "stands for it in all circuits";
  }
  return parameters;
}

std::vector<Exclusion> latent_text_exclusions(std::initializer_list<const char*> others) {
  std::vector<Exclusion> exclusions = text_exclusions(/*with_windows=*/true);
  for (const char* other : others) {
    exclusions.push_back({other, {"text", "text_file", "tokens", "token_file"}, "reads no text"});
  }
  return exclusions;
}

std::optional<LatentText> latent_text_of(const Arguments& arguments, const Session& session,
                                         std::span<const Model> models, RowSink& notes) {
  if (!names_a_text(arguments)) return std::nullopt;
  check_latents(models);
  LatentText out;
  for (const Model& model : models) {
    auto& own = out.sequences.emplace_back();
    if (!model.dimensions().latent) continue;
    TokenSequences found = token_sequences(arguments, session, model);
    if (!found.note.empty()) notes.add_note(std::move(found.note));
    out.parameters = std::move(found.parameters);
    own = std::move(found.of_model);
  }
  return out;
}

}  // namespace attnscope
