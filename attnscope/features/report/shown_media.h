// What a report shows of an image or sound beside its maps.
#pragma once

#include <optional>

#include "attnscope/base/model_inputs.h"
#include "attnscope/inputs/image/image_processor.h"
#include "attnscope/model/model.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// The pixels that patches of `grid` cover, `patch` pixels each way, as they were before
/// `preparation`; without one from the least value to the largest. At most 640 rows and columns,
/// means of equal blocks where there are more.
ShownImage shown_image(const MediaInput& image, const PatchGrid& grid, std::int64_t patch,
                       const std::optional<ImagePreparation>& preparation);

/// Sound of 16 kHz, samples or features of 100 frames a second, as the model has it in `rows` rows:
/// the root of the mean square of a wave, the mean of features from their least to their largest.
ShownAudio shown_audio(const MediaInput& audio, std::int64_t rows);

/// The rows that a model has of such sound as a decoder's source: their numbers, and when they
/// begin, such as "0.02 s".
ShownText shown_frames(const MediaInput& audio, std::int64_t rows);

/// Adds what the maps of such a model on it are of. Throws as the readers of preparations do.
void add_media_input(const Model& model, const MediaInput& media_input, ReportFile& file);

}  // namespace attnscope
