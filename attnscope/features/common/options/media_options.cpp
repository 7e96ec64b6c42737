#include "attnscope/features/common/options/media_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "attnscope/base/error.h"
#include "attnscope/base/text.h"
#include "attnscope/inputs/audio/feature_extractor.h"
#include "attnscope/inputs/audio/wav_file.h"
#include "attnscope/inputs/image/image_processor.h"
#include "attnscope/inputs/npy_reader.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::uint64_t kMediaFileLimitBytes = 500'000'000;

/// One input, or several along a leading axis.
std::vector<MediaInput> arrays_of(MediaInput all, std::size_t axes, const std::string& file) {
  const auto wrong = std::find_if(all.values.begin(), all.values.end(),
                                  [](float value) { return !std::isfinite(value); });
  if (wrong != all.values.end()) {
    throw Error(
        ErrorKind::format,
        {.file = file,
         .problem = "value " + std::to_string(wrong - all.values.begin()) + " is NaN or infinite"});
  }
  if (all.shape.size() != axes && all.shape.size() != axes + 1) {
    throw Error(ErrorKind::format, {.file = file,
                                    .problem = "has shape " + shape_text(all.shape) +
                                               ", expected " + std::to_string(axes) + " axes, or " +
                                               std::to_string(axes + 1) + " for several inputs"});
  }
  if (all.values.empty()) {
    throw Error(ErrorKind::format, {.file = file,
                                    .problem = "has shape " + shape_text(all.shape) +
                                               ", expected at least one value"});
  }
  if (all.shape.size() == axes) return {std::move(all)};
  const std::vector<std::int64_t> shape(all.shape.begin() + 1, all.shape.end());
  const auto each = std::ssize(all.values) / all.shape.front();
  std::vector<MediaInput> media_inputs;
  for (auto first = all.values.begin(); first != all.values.end(); first += each) {
    media_inputs.push_back({.shape = shape, .values = {first, first + each}});
  }
  return media_inputs;
}

MediaInput image_of(const std::string& bytes, const std::string& file, const Session& session,
                    const Model& model) {
  const ImagePreparation preparation = read_image_preparation(model.checkpoint().folder());
  const RgbImage rgb_image = read_rgb_image(bytes, file);
  if (rgb_image.clipped && session.on_warning) {
    session.on_warning({.file = file,
                        .problem = "16-bit gray values are clipped at 255, as in the loader of "
                                   "transformers",
                        .hint = "divide the values by 257 first"});
  }
  return prepare_image(rgb_image, preparation);
}

}  // namespace

InputKind input_kind(const Model& model) {
  const StreamSpec& stream = reader_of(model).spec().stream;
  if (stream.patches) return InputKind::image;
  return stream.audio ? InputKind::audio : InputKind::text;
}

const char* noun_of(InputKind kind) {
  switch (kind) {
    case InputKind::text: return "texts";
    case InputKind::image: return "images";
    case InputKind::audio: return "sound";
  }
  return "";
}

Parameters media_parameters() {
  return {{.name = "image",
           .type = file,
           .group = OptionGroup::input,
           .help = "vision models: image file (PNG or JPEG)",
           .metavariable = "FILE"},
          {.name = "pixel_values",
           .type = file,
           .group = OptionGroup::input,
           .help = "vision models: preprocessed pixels (.npy: channels, rows, columns), or several "
                   "images along a leading axis",
           .metavariable = "FILE"},
          {.name = "audio",
           .type = file,
           .group = OptionGroup::input,
           .help = "audio models: audio file (WAV, mono, 16 kHz)",
           .metavariable = "FILE"},
          {.name = "features",
           .type = file,
           .group = OptionGroup::input,
           .help = "audio models: preprocessed audio (.npy: samples, or features and frames), or "
                   "several inputs along a leading axis",
           .metavariable = "FILE"}};
}

std::vector<Exclusion> media_exclusions(const std::vector<std::string>& beside) {
  std::vector<Exclusion> out;
  for (std::size_t at = 0; at < kMediaParameters.size(); ++at) {
    std::vector<std::string> others = beside;
    others.insert(others.end(), kMediaParameters.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                  kMediaParameters.end());
    out.push_back({std::string(kMediaParameters[at]), others, "gives the input"});
  }
  return out;
}

std::string named_media_parameter(const Arguments& arguments) {
  const auto given = std::find_if(kMediaParameters.begin(), kMediaParameters.end(),
                                  [&](std::string_view name) { return arguments.given(name); });
  return given == kMediaParameters.end() ? "" : std::string(*given);
}

InputKind input_kind_of(std::string_view parameter) {
  return parameter == "image" || parameter == "pixel_values" ? InputKind::image : InputKind::audio;
}

InputKind named_input(const Arguments& arguments) {
  const std::string named = named_media_parameter(arguments);
  return named.empty() ? InputKind::text : input_kind_of(named);
}

std::string media_source(const Arguments& arguments) {
  const std::string file = arguments.text(named_media_parameter(arguments));
  return std::filesystem::path(file).filename().string();
}

const Model& reader_of(const Model& model) {
  const bool decodes = model.stack() == "decoder" || model.stack() == "cross";
  const Model* encoder = decodes ? model.sibling("encoder") : nullptr;
  return encoder == nullptr ? model : *encoder;
}

void check_readers(std::span<const Model> models, InputKind wanted, const std::string& parameter) {
  const auto fits = [&](const Model& model) { return input_kind(model) == wanted; };
  if (std::any_of(models.begin(), models.end(), fits)) return;
  const Model& first = models.front();
  throw Error(ErrorKind::usage,
              {.parameter = parameter,
               .problem = verbatim(first.name()) + " takes " + noun_of(input_kind(first)) +
                          ", not " + noun_of(wanted)});
}

void keep_media_models(const Arguments& arguments, std::vector<Model>& models) {
  const auto is_not_run = [](const Model& model) { return !model.spec().not_run.empty(); };
  if (std::all_of(models.begin(), models.end(), is_not_run)) {
    const ModelSpec& spec = models.front().spec();
    throw Error(ErrorKind::unsupported, {.file = spec.source, .problem = spec.not_run});
  }
  const InputKind wanted = named_input(arguments);
  if (wanted != InputKind::text) {
    check_readers(models, wanted, named_media_parameter(arguments));
  } else if (std::none_of(models.begin(), models.end(), [](const Model& model) {
               return input_kind(model) == InputKind::text;
             })) {
    const InputKind own = input_kind(models.front());
    throw Error(ErrorKind::usage, {.parameter = own == InputKind::image ? "image" : "audio",
                                   .problem = "missing input: " + verbatim(models.front().name()) +
                                              " takes " + noun_of(own) + ", not texts"});
  }
  std::erase_if(models, [&](const Model& model) { return input_kind(model) != wanted; });
}

std::vector<MediaInput> media_inputs_of(const Arguments& arguments, const Session& session,
                                        const Model& model, const std::string& sent) {
  const std::string named = named_media_parameter(arguments);
  return media_inputs_in(named, arguments.text(named), session, model, sent);
}

std::vector<MediaInput> media_inputs_in(const std::string& named, const std::string& file,
                                        const Session& session, const Model& model,
                                        const std::string& sent) {
  const Model& reader = reader_of(model);
  const std::string bytes =
      sent.empty() ? session.files->read_text(file, kMediaFileLimitBytes) : sent;
  if (named == "image") return {image_of(bytes, file, session, reader)};
  if (named == "audio") {
    const AudioPreparation preparation = read_audio_preparation(reader.checkpoint().folder());
    return {prepare_audio(read_wave(bytes, file), preparation)};
  }
  std::size_t axes = 3;
  if (named == "features") axes = reader.spec().stream.audio->of_waves ? 1 : 2;
  return arrays_of(read_npy(bytes, file), axes, file);
}

}  // namespace attnscope
