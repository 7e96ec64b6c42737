#include "attnscope/commands/image_parameters.h"

#include <algorithm>
#include <filesystem>

#include "attnscope/core/error.h"
#include "attnscope/core/text.h"
#include "attnscope/tokens/image_preparation.h"
#include "attnscope/tokens/npy_array.h"

namespace attnscope {
namespace {

using enum ParameterType;

constexpr std::uint64_t kImageFileLimitBytes = 500'000'000;

std::vector<Signal> arrays_of(Signal all, const std::string& file) {
  if (all.shape.size() == 3) return {std::move(all)};
  if (all.shape.size() != 4 || all.values.empty()) {
    throw Error(ErrorKind::format,
                {.file = file,
                 .problem = "holds no pixels of the shape (channels, rows, columns), or of several "
                            "images (images, channels, rows, columns)"});
  }
  const std::vector<std::int64_t> shape(all.shape.begin() + 1, all.shape.end());
  const auto each = std::ssize(all.values) / all.shape.front();
  std::vector<Signal> images;
  for (auto first = all.values.begin(); first != all.values.end(); first += each) {
    images.push_back({.shape = shape, .values = {first, first + each}});
  }
  return images;
}

}  // namespace

Parameters image_parameters() {
  return {{.name = "image",
           .type = file,
           .help = "a picture (PNG or JPEG), of models that read images",
           .metavariable = "FILE"},
          {.name = "pixel_values",
           .type = file,
           .help = "pixels as a model reads them (.npy: channels, rows, columns), or of several "
                   "images",
           .metavariable = "FILE"}};
}

bool names_images(const Arguments& arguments) {
  return arguments.given("image") || arguments.given("pixel_values");
}

std::string image_source(const Arguments& arguments) {
  const std::string file = arguments.text(arguments.given("image") ? "image" : "pixel_values");
  return std::filesystem::path(file).filename().string();
}

void keep_readers(const Arguments& arguments, std::vector<Model>& models) {
  const auto reads = [](const Model& model) { return model.spec().stream.patches.has_value(); };
  const bool images = names_images(arguments);
  if (images && std::none_of(models.begin(), models.end(), reads)) {
    throw Error(ErrorKind::usage,
                {.parameter = arguments.given("image") ? "image" : "pixel_values",
                 .problem = verbatim(models.front().name()) + " reads no images"});
  }
  if (!images && std::all_of(models.begin(), models.end(), reads)) {
    throw Error(ErrorKind::usage, {.parameter = "image",
                                   .problem = "is needed: " + verbatim(models.front().name()) +
                                              " reads images, and no text"});
  }
  std::erase_if(models, [&](const Model& model) { return reads(model) != images; });
}

std::vector<Signal> images_of(const Arguments& arguments, const Session& session,
                              const Model& model) {
  if (arguments.given("image")) {
    const std::string file = arguments.text("image");
    const ImagePreparation preparation = read_image_preparation(model.checkpoint().folder());
    const std::string bytes = session.files->read_text(file, kImageFileLimitBytes);
    const Picture picture = read_picture(bytes, file);
    if (picture.clipped && session.on_warning) {
      session.on_warning({.file = file,
                          .problem = "its grey values of 16 bits are cut at 255, as transformers' "
                                     "loader cuts them",
                          .hint = "divide them by 257 before"});
    }
    return {prepare_image(picture, preparation)};
  }
  const std::string file = arguments.text("pixel_values");
  return arrays_of(read_npy(session.files->read_text(file, kImageFileLimitBytes), file), file);
}

}  // namespace attnscope
