// The text options of commands that read weights, for models with latents.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "attnscope/analyses/latent_text.h"
#include "attnscope/commands/shared_parameters.h"

namespace attnscope {

Parameters latent_text_parameters();
/// Those of texts, and that each of `others`, which asks for something else, excludes them.
std::vector<Exclusion> latent_text_exclusions(std::initializer_list<const char*> others);

/// Nothing where no text is named. Throws as check_latents().
std::optional<LatentText> latent_text_of(const Arguments& arguments, const Session& session,
                                         std::span<const Model> models, RowSink& notes);

}  // namespace attnscope
