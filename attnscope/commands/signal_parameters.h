// What a command runs in place of a text: a picture, a sound, or numbers that someone prepared.
#pragma once

#include <string>
#include <vector>

#include "attnscope/commands/shared_parameters.h"
#include "attnscope/core/signal.h"

namespace attnscope {

/// image, pixel_values, audio, features.
Parameters signal_parameters();

/// Each of them excludes the others, and `beside`.
std::vector<Exclusion> signal_exclusions(const std::vector<std::string>& beside);

/// Which of them is given; empty: none.
std::string named_signal(const Arguments& arguments);

/// The last part of the name of its file.
std::string signal_source(const Arguments& arguments);

/// What reads a model's input: of a decoder, or its cross attention, its encoder; else itself.
const Model& reader_of(const Model& model);

/// Where an image or sound is named, leaves the models, or stacks of models, that read such; else
/// those that read texts. Throws Error(usage) where none is left.
void keep_readers(const Arguments& arguments, std::vector<Model>& models);

/// As the model reads them: of one file as its processor prepares it; of an array of pixels (C, H,
/// W) or (N, C, H, W), of features (F, T) or samples (S), with N before them where there are
/// several. At least one, all of one shape. Throws as read_picture(), read_wave(), read_npy() and
/// the readers of preparations do.
std::vector<Signal> signals_of(const Arguments& arguments, const Session& session,
                               const Model& model);

}  // namespace attnscope
