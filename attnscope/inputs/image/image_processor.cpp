#include "attnscope/inputs/image/image_processor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include "attnscope/base/error.h"
#include "attnscope/base/strict_json.h"
#include "attnscope/base/text.h"
#include "attnscope/inputs/image/resize.h"

namespace attnscope {
namespace {

/// Source: transformers, get_image_size_for_max_num_patches() of SigLIP 2. The same steps in
/// float64, because sizes jump between scales.
ImageSize size_in_patches(const RgbImage& rgb_image, const PatchLimit& limit) {
  constexpr double kEpsilon = 1e-5;
  const auto patches = [&](double scale, std::int64_t size) {
    const double count =
        std::ceil(static_cast<double>(size) * scale / static_cast<double>(limit.size));
    return std::max<std::int64_t>(static_cast<std::int64_t>(count), 1);
  };
  double least = kEpsilon / 10, most = 100;
  while (most - least >= kEpsilon) {
    const double scale = (least + most) / 2;
    const bool fits = patches(scale, rgb_image.rows) * patches(scale, rgb_image.cols) <= limit.most;
    (fits ? least : most) = scale;
  }
  return {patches(least, rgb_image.rows) * limit.size, patches(least, rgb_image.cols) * limit.size};
}

/// Source: transformers, _get_preprocess_shape() of SAM.
ImageSize size_by_longest_edge(const RgbImage& rgb_image, std::int64_t edge) {
  const double scale =
      static_cast<double>(edge) / static_cast<double>(std::max(rgb_image.rows, rgb_image.cols));
  const auto side = [&](std::int64_t own) {
    return std::max<std::int64_t>(static_cast<std::int64_t>(static_cast<double>(own) * scale + 0.5),
                                  1);
  };
  return {side(rgb_image.rows), side(rgb_image.cols)};
}

/// Source: transformers, get_resize_output_image_size().
ImageSize size_of(const RgbImage& rgb_image, const ImagePreparation& preparation) {
  if (preparation.size) return *preparation.size;
  if (preparation.patches) return size_in_patches(rgb_image, *preparation.patches);
  if (preparation.longest_edge) return size_by_longest_edge(rgb_image, *preparation.longest_edge);
  if (!preparation.shortest_edge) return {rgb_image.rows, rgb_image.cols};
  const std::int64_t edge = *preparation.shortest_edge;
  const auto longer = [&](std::int64_t longest, std::int64_t shortest) {
    return static_cast<std::int64_t>(static_cast<double>(edge * longest) /
                                     static_cast<double>(shortest));
  };
  if (rgb_image.cols <= rgb_image.rows) return {longer(rgb_image.rows, rgb_image.cols), edge};
  return {edge, longer(rgb_image.cols, rgb_image.rows)};
}

MediaInput as_numbers(const RgbImage& rgb_image) {
  MediaInput out{.shape = {3, rgb_image.rows, rgb_image.cols},
                 .values = std::vector<float>(rgb_image.rgb.size())};
  const std::size_t pixels = rgb_image.rgb.size() / 3;
  for (std::size_t at = 0; at < rgb_image.rgb.size(); ++at) {
    out.values[at % 3 * pixels + at / 3] = static_cast<float>(rgb_image.rgb[at]);
  }
  return out;
}

/// Source: transformers, TorchvisionBackend.center_crop().
MediaInput cropped(const MediaInput& image, const ImageSize& size) {
  const std::int64_t rows = image.shape[1], cols = image.shape[2];
  const auto first = [](std::int64_t own, std::int64_t wanted) {
    return own >= wanted ? (own - wanted) / 2 : -((wanted - own) / 2);
  };
  const std::int64_t top = first(rows, size.rows), left = first(cols, size.cols);
  MediaInput out{.shape = {3, size.rows, size.cols},
                 .values = std::vector<float>(static_cast<std::size_t>(3 * size.rows * size.cols))};
  const std::int64_t begin = std::max<std::int64_t>(0, -left);
  const std::int64_t end = std::min(size.cols, cols - left);
  for (std::int64_t line = 0; line < 3 * size.rows; ++line) {
    const std::int64_t channel = line / size.rows, row = line % size.rows + top;
    if (row < 0 || row >= rows || end <= begin) continue;
    const float* from = image.values.data() + (channel * rows + row) * cols;
    std::copy(from + left + begin, from + left + end,
              out.values.begin() + line * size.cols + begin);
  }
  return out;
}

/// Adds zeros below and to the right. Source: transformers, pad() of SAM.
MediaInput padded(const MediaInput& image, const ImageSize& size) {
  const std::int64_t rows = image.shape[1], cols = image.shape[2];
  if (rows > size.rows || cols > size.cols) {
    throw Error(ErrorKind::unsupported,
                {.problem = "the resized image of " + std::to_string(rows) + " × " +
                            std::to_string(cols) + " pixels is larger than its padded size of " +
                            std::to_string(size.rows) + " × " + std::to_string(size.cols)});
  }
  MediaInput out{.shape = {3, size.rows, size.cols},
                 .values = std::vector<float>(static_cast<std::size_t>(3 * size.rows * size.cols))};
  for (std::int64_t line = 0; line < 3 * rows; ++line) {
    std::copy_n(image.values.begin() + line * cols, cols,
                out.values.begin() + (line / rows * size.rows + line % rows) * size.cols);
  }
  return out;
}

/// Normalizes values of which `times` the mean is the mean.
void normalize(MediaInput& image, const ImagePreparation& preparation, float times) {
  const std::size_t pixels = image.values.size() / 3;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const float mean = static_cast<float>((*preparation.mean)[channel]) * times;
    const float deviation = static_cast<float>((*preparation.deviation)[channel]) * times;
    for (std::size_t at = channel * pixels; at < (channel + 1) * pixels; ++at) {
      image.values[at] = (image.values[at] - mean) / deviation;
    }
  }
}

}  // namespace

MediaInput prepare_image(const RgbImage& rgb_image, const ImagePreparation& preparation) {
  const ImageSize size = size_of(rgb_image, preparation);
  check_image_size(static_cast<std::uint64_t>(size.rows), static_cast<std::uint64_t>(size.cols),
                   "the resized image");
  const bool in_bytes = !preparation.resizes_numbers;
  MediaInput image = as_numbers(
      in_bytes ? resized(rgb_image, size.rows, size.cols, preparation.filter) : rgb_image);
  // If both are done, transformers' fused form divides by std / factor.
  const bool fused = in_bytes && preparation.factor && preparation.mean;
  const auto factor = static_cast<float>(preparation.factor.value_or(1));
  if (preparation.factor && !fused) {
    for (float& value : image.values) value *= factor;
  }
  if (!in_bytes) image = resized_numbers(image, size.rows, size.cols, preparation.filter);
  if (preparation.crop) image = cropped(image, *preparation.crop);
  if (preparation.mean) {
    normalize(image, preparation, static_cast<float>(fused ? 1 / *preparation.factor : 1));
  }
  return preparation.pad ? padded(image, *preparation.pad) : image;
}

// Reads preprocessor_config.json.
namespace {

using nlohmann::json;

constexpr std::uint64_t kPreparationLimitBytes = 1'000'000;
constexpr std::int64_t kMaxEdge = 20'000;

/// A class of processors, and its defaults.
struct ProcessorClass {
  std::string_view name;
  ResampleFilter filter;
  bool imagenet_mean;  // mean and deviation of ImageNet; false: those of `standard`, or CLIP's
  bool clip_mean;
  bool crops;
  std::int64_t size;              // for both sides
  bool by_shortest_edge;          // it is the size of the shorter side
  bool bare_is_shortest = false;  // a single number is the size of the shorter side
  bool resizes_numbers = false;
  bool by_patches = false;  // to a number of patches
  bool pads = false;        // to `size`, which is that of the longer side
};

// Source: transformers 5.23, models/*/image_processing_*.py.
constexpr ProcessorClass kProcessors[] = {
    {"ViT", ResampleFilter::bilinear, false, false, false, 224, false},
    {"DeiT", ResampleFilter::bicubic, false, false, true, 256, false},
    {"Bit", ResampleFilter::bicubic, false, true, true, 224, true, true},
    {"Beit", ResampleFilter::bicubic, false, false, false, 224, false},
    {"Blip", ResampleFilter::bicubic, false, true, false, 384, false},
    {"CLIP", ResampleFilter::bicubic, false, true, true, 224, true, true},
    {"Siglip", ResampleFilter::bicubic, false, false, false, 224, false, true},
    {"Siglip2", ResampleFilter::bilinear, false, false, false, 0, false, false, false, true},
    {"DINOv3ViT", ResampleFilter::bilinear, true, false, false, 224, false, false, true},
    {"Sam", ResampleFilter::bilinear, true, false, false, 1024, false, false, false, false, true},
};

class PreparationReader {
 public:
  PreparationReader(const json& object, std::string file)
      : object_(object), file_(std::move(file)) {}

  ImagePreparation read() const {
    const ProcessorClass& processor = class_of();
    ImagePreparation out{.filter = processor.filter, .resizes_numbers = processor.resizes_numbers};
    if (const json* filter = find("resample")) out.filter = filter_of(*filter);
    if (flag("do_resize", true)) read_size(processor, out);
    if (flag("do_center_crop", processor.crops)) {
      const json* crop = find("crop_size");
      out.crop = crop == nullptr ? ImageSize{224, 224} : two_sides("crop_size", *crop);
    }
    if (flag("do_rescale", true)) out.factor = positive("rescale_factor", 1.0 / 255);
    if (flag("do_normalize", true)) {
      out.mean = three("image_mean", usual_mean(processor));
      out.deviation = three("image_std", usual_deviation(processor));
      for (const double each : *out.deviation) {
        if (each == 0) refuse("'image_std' contains a zero");
      }
    }
    if (flag("do_pad", processor.pads)) {
      if (!processor.pads) unknown("'do_pad' is true");
      const json* pad = find("pad_size");
      out.pad =
          pad == nullptr ? ImageSize{processor.size, processor.size} : two_sides("pad_size", *pad);
    }
    return out;
  }

 private:
  using Three = std::array<double, 3>;

  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(ErrorKind::format, {.file = file_, .problem = problem});
  }
  [[noreturn]] void unknown(const std::string& problem) const {
    throw Error(ErrorKind::unsupported, {.file = file_,
                                         .problem = problem + ", which is not supported",
                                         .hint = "pass prepared pixels with {pixel_values}"});
  }

  const json* find(const char* key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  bool flag(const char* key, bool usual) const {
    const json* value = find(key);
    if (value == nullptr) return usual;
    if (!value->is_boolean()) refuse("'" + std::string(key) + "' is neither true nor false");
    return value->get<bool>();
  }

  double positive(const char* key, double usual) const {
    const json* value = find(key);
    if (value == nullptr) return usual;
    const double number = value->is_number() ? value->get<double>() : 0;
    if (!(number > 0) || number > 1e6)
      refuse("'" + std::string(key) + "' is not a positive number");
    return number;
  }

  Three three(const char* key, const Three& usual) const {
    const json* value = find(key);
    if (value == nullptr) return usual;
    const auto number = [&](const json& one) {
      const double found =
          one.is_number() ? one.get<double>() : std::numeric_limits<double>::quiet_NaN();
      if (!std::isfinite(found))
        refuse("'" + std::string(key) + "' contains a value that is not a finite number");
      return found;
    };
    if (value->is_number()) {
      const double one = number(*value);
      return {one, one, one};
    }
    if (!value->is_array() || value->size() != 3) {
      refuse("'" + std::string(key) + "' is not a list of three numbers");
    }
    Three out{};
    for (std::size_t at = 0; at < out.size(); ++at) {
      out[at] = number((*value)[at]);
    }
    return out;
  }

  std::int64_t edge(const char* key, const json& value) const {
    const std::int64_t pixels = value.is_number_integer() ? value.get<std::int64_t>() : 0;
    if (pixels < 1 || pixels > kMaxEdge) {
      refuse("'" + std::string(key) + "' is not from 1 to " + std::to_string(kMaxEdge));
    }
    return pixels;
  }

  ImageSize two_sides(const char* key, const json& value) const {
    if (value.is_number()) return {edge(key, value), edge(key, value)};
    if (value.is_object() && value.contains("height") && value.contains("width")) {
      return {edge(key, value["height"]), edge(key, value["width"])};
    }
    unknown("'" + std::string(key) + "' " + printable(python_json_text(value)));
  }

  void read_size(const ProcessorClass& processor, ImagePreparation& out) const {
    const json* size = find("size");
    if (processor.by_patches) {
      const auto number = [&](const char* key, std::int64_t usual) {
        const json* value = find(key);
        return value == nullptr ? usual : edge(key, *value);
      };
      out.patches =
          PatchLimit{.size = number("patch_size", 16), .most = number("max_num_patches", 256)};
    } else if (processor.pads) {
      const bool by_edge = size == nullptr || (size->is_object() && size->size() == 1 &&
                                               size->contains("longest_edge"));
      if (!by_edge) unknown("'size' " + printable(python_json_text(*size)));
      out.longest_edge = size == nullptr ? processor.size : edge("size", (*size)["longest_edge"]);
    } else if (size == nullptr) {
      if (processor.by_shortest_edge) {
        out.shortest_edge = processor.size;
      } else {
        out.size = {processor.size, processor.size};
      }
    } else if (size->is_object() && size->size() == 1 && size->contains("shortest_edge")) {
      out.shortest_edge = edge("size", (*size)["shortest_edge"]);
    } else if (size->is_number() && processor.bare_is_shortest) {
      out.shortest_edge = edge("size", *size);
    } else {
      out.size = two_sides("size", *size);
    }
  }

  ResampleFilter filter_of(const json& value) const {
    using enum ResampleFilter;
    constexpr ResampleFilter kByNumber[] = {nearest, lanczos, bilinear, bicubic, box, hamming};
    const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
    if (number < 0 || number > 5) unknown("'resample' " + printable(python_json_text(value)));
    return kByNumber[number];
  }

  /// Matches the class by its name without the usual suffixes.
  const ProcessorClass& class_of() const {
    std::string name;
    for (const char* key : {"image_processor_type", "feature_extractor_type"}) {
      const json* value = find(key);
      if (value == nullptr || !value->is_string() || !name.empty()) continue;
      name = value->get<std::string>();
    }
    const std::string whole = name;
    for (const std::string_view ending : {"Fast", "Pil", "ImageProcessor", "FeatureExtractor"}) {
      if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    }
    for (const ProcessorClass& each : kProcessors) {
      if (each.name == name) return each;
    }
    unknown(whole.empty() ? "does not name its image processor"
                          : "the image processor '" + printable(whole) + "'");
  }

  static Three usual_mean(const ProcessorClass& processor) {
    if (processor.imagenet_mean) return {0.485, 0.456, 0.406};
    if (processor.clip_mean) return {0.48145466, 0.4578275, 0.40821073};
    return {0.5, 0.5, 0.5};
  }
  static Three usual_deviation(const ProcessorClass& processor) {
    if (processor.imagenet_mean) return {0.229, 0.224, 0.225};
    if (processor.clip_mean) return {0.26862954, 0.26130258, 0.27577711};
    return {0.5, 0.5, 0.5};
  }

  const json& object_;
  std::string file_;
};

}  // namespace

ImagePreparation read_image_preparation(const CheckpointFolder& folder) {
  for (const char* name : {"preprocessor_config.json", "processor_config.json"}) {
    if (!folder.has(name)) continue;
    const std::string file = folder.place_of(name);
    const json whole = parse_python_json(folder.read_text(name, kPreparationLimitBytes), file);
    const json* object = &whole;
    if (whole.is_object() && whole.contains("image_processor")) object = &whole["image_processor"];
    if (!object->is_object()) {
      throw Error(ErrorKind::format, {.file = file, .problem = "is not a JSON object"});
    }
    return PreparationReader(*object, file).read();
  }
  throw Error(
      ErrorKind::usage,
      {.file = folder.path().string(),
       .problem = "contains no preprocessor_config.json, which specifies how images are prepared",
       .hint = "pass prepared pixels with {pixel_values}"});
}

}  // namespace attnscope
