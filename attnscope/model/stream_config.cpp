#include "attnscope/model/stream_config.h"

#include <cmath>
#include <cstdint>
#include <string>

#include "attnscope/model/norm_config.h"

namespace attnscope {

void set_stream(ModelSpec& spec, const ConfigReader& config) {
  const Architecture& architecture = spec.architecture;
  const NormRule& norms = *architecture.norm;
  StreamSpec& stream = spec.stream;
  EmbeddingRule& embedding = stream.embedding;
  embedding = architecture.embedding;
  if (!config.flag(embedding.has_positions)) embedding.positions.clear();
  if (config.number(embedding.type_count, /*least=*/0) == 0) embedding.types.clear();
  if (!config.flag(embedding.has_norm)) embedding.norm.clear();
  stream.embedding_norm = norm_at(norms, config, embedding.norm);
  const std::int64_t width = spec.dimensions.width;
  if (embedding.waves && (width % 2 != 0 || width < 4) && spec.not_run.empty()) {
    spec.not_run =
        "its positions are waves, which a width of " + std::to_string(width) + " has no room for";
  }
  stream.embedding_width = config.number(embedding.width).value_or(width);
  const bool if_narrow = embedding.projects_tokens || embedding.projects_if_narrow;
  stream.has_projection =
      !embedding.projection.empty() && (!if_narrow || stream.embedding_width != width);
  stream.embedding_factor = config.flag(embedding.times_sqrt_width)
                                ? std::sqrt(static_cast<double>(width))
                                : config.positive(architecture.multipliers.embedding).value_or(1);
  if (config.flag(embedding.drops_masked)) {
    stream.dropped_token = config.number(embedding.masked_token, /*least=*/0);
    if (!stream.dropped_token && spec.not_run.empty()) {
      spec.not_run = "'" + embedding.drops_masked.name + "' is true, and '" +
                     embedding.masked_token.name + "' is not said";
    }
  }
  stream.padding_token = config.number(architecture.padding_token, /*least=*/0).value_or(0);
  if (config.flag(norms.first) && !config.flag(norms.without_last)) {
    stream.last_norm = norm_at(norms, config, norms.last);
  }
  if (norms.bare_stream) stream.embedding_norm = norm_named(norms, config, "");
  stream.shows_last_normed = norms.shows_last;
  if (architecture.sound) {
    const std::string unknown = set_sound(spec, config);
    if (spec.not_run.empty()) spec.not_run = unknown;
  }
  if (!architecture.patches) return;
  const PatchRule& patches = *architecture.patches;
  stream.patches = PatchSpec{.rule = patches,
                             .image_size = config.required(patches.image_size),
                             .size = config.required(patches.patch_size),
                             .channels = config.required(patches.channels),
                             .registers = config.number(patches.register_count, 0).value_or(0)};
}

}  // namespace attnscope
