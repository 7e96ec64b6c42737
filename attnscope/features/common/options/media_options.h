// Inputs other than text: an image, an audio file, or preprocessed arrays of either.
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

/// Each media option excludes the others and `beside`.
std::vector<Exclusion> media_exclusions(const std::vector<std::string>& beside);

/// The kind of input that a model, or a stack of a model, takes.
enum class InputKind { text, image, audio };
InputKind input_kind(const Model& model);
/// "texts", "images", "sound".
const char* noun_of(InputKind kind);

/// The kind that one of kMediaParameters gives.
InputKind input_kind_of(std::string_view parameter);

/// The kind of the media option that is given; text if none is.
InputKind named_input(const Arguments& arguments);

/// The media option that is given; empty if none is.
std::string named_media_parameter(const Arguments& arguments);

/// The file name of the media option that is given, without its folder.
std::string media_source(const Arguments& arguments);

/// The stack that takes a model's input: the encoder of a decoder or of cross-attention, otherwise
/// the model itself.
const Model& reader_of(const Model& model);

/// Throws Error(usage) for `parameter` if none of the models takes this kind of input.
void check_readers(std::span<const Model> models, InputKind wanted, const std::string& parameter);

/// Keeps the models, or stacks of models, that take the given kind of input: the image or audio if
/// one is given, else text. Throws Error(usage) if none is left.
void keep_media_models(const Arguments& arguments, std::vector<Model>& models);

/// The inputs of the model: a file prepared as by the model's processor, or an array. Arrays hold
/// pixels (C, H, W), features (F, T) or samples (S), with an optional leading axis N. Returns at
/// least one input, all of the same shape. Throws the errors of read_rgb_image(), read_wave(),
/// read_npy() and of reading the preparation. `sent`: the bytes of the file, if they are already in
/// memory.
std::vector<MediaInput> media_inputs_of(const Arguments& arguments, const Session& session,
                                        const Model& model, const std::string& sent = "");
/// The same for a file and the media option that it belongs to.
std::vector<MediaInput> media_inputs_in(const std::string& named, const std::string& file,
                                        const Session& session, const Model& model,
                                        const std::string& sent = "");

}  // namespace attnscope
