// The image or audio that a report shows next to its attention maps.
#pragma once

#include <optional>

#include "attnscope/base/model_inputs.h"
#include "attnscope/inputs/image/image_processor.h"
#include "attnscope/model/model.h"
#include "attnscope/page/report_file.h"

namespace attnscope {

/// The pixels under the patches of `grid`, `patch` pixels per side, before `preparation`. Without a
/// preparation, values are scaled from minimum to maximum. Larger images are reduced to at most 640
/// rows and columns by averaging equal blocks.
ShownImage shown_image(const MediaInput& image, const PatchGrid& grid, std::int64_t patch,
                       const std::optional<ImagePreparation>& preparation);

/// Audio in `rows` rows, as the model divides it. Input: samples at 16 kHz, or features at 100
/// frames per second. Each row shows the RMS of the samples, or the mean of the features scaled
/// from minimum to maximum.
ShownAudio shown_audio(const MediaInput& audio, std::int64_t rows);

/// The rows of such audio as the source of a decoder: their indices and start times, such as "0.02
/// s". For an image, only the indices.
ShownText shown_frames(const MediaInput& audio, std::int64_t rows);

/// Adds the image or audio that the attention maps refer to. Throws as the readers of preparations
/// do.
void add_media_input(const Model& model, const MediaInput& media_input, ReportFile& file);

}  // namespace attnscope
