// What a command runs in place of a text: a picture, a sound, or numbers that someone prepared.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnscope/base/model_inputs.h"
#include "attnscope/features/common/options/shared_options.h"
#include "attnscope/model/model.h"

namespace attnscope {

inline constexpr std::array<std::string_view, 4> kMediaParameters = {"image", "pixel_values",
                                                                     "audio", "features"};
Parameters media_parameters();

/// Each of them excludes the others, and `beside`.
std::vector<Exclusion> media_exclusions(const std::vector<std::string>& beside);

/// What a model, or stack of one, is run on.
enum class InputKind { text, image, audio };
InputKind input_kind(const Model& model);
/// "texts", "images", "sound".
const char* noun_of(InputKind kind);

/// What the one is that is given; text where none is.
InputKind named_input(const Arguments& arguments);

/// Which of them is given; empty: none.
std::string named_media_parameter(const Arguments& arguments);

/// The last part of the name of its file.
std::string media_source(const Arguments& arguments);

/// What reads a model's input: of a decoder, or its cross attention, its encoder; else itself.
const Model& reader_of(const Model& model);

/// Throws Error(usage) where none of the models is run on such; `parameter` gives it.
void check_readers(std::span<const Model> models, InputKind wanted, const std::string& parameter);

/// Where an image or sound is named, leaves the models, or stacks of models, that read such; else
/// those that read texts. Throws Error(usage) where none is left.
void keep_media_models(const Arguments& arguments, std::vector<Model>& models);

/// As the model reads them: of one file as its processor prepares it; of an array of pixels (C, H,
/// W) or (N, C, H, W), of features (F, T) or samples (S), with N before them where there are
/// several. At least one, all of one shape. Throws as read_rgb_image(), read_wave(), read_npy() and
/// the readers of preparations do.
/// `sent`: the bytes of the file, where they are at hand.
std::vector<MediaInput> media_inputs_of(const Arguments& arguments, const Session& session,
                                        const Model& model, const std::string& sent = "");

}  // namespace attnscope
