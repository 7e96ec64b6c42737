// The only user of libjpeg. libjpeg reports errors with longjmp, so code after a setjmp() here must
// not own anything.
#include <cstdio>  // before jpeglib.h, which requires it
//
#include <jerror.h>
#include <jpeglib.h>

#include <array>
#include <csetjmp>

#include "attnscope/base/text.h"
#include "attnscope/inputs/image/image_file.h"

namespace attnscope {
namespace {

/// More scans than any encoder writes. Each scan costs a pass over the whole image.
constexpr int kMaxScans = 200;

struct JpegFile {
  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf failed;
  std::array<char, JMSG_LENGTH_MAX> problem = {};

  JpegFile() = default;
  JpegFile(const JpegFile&) = delete;
  JpegFile& operator=(const JpegFile&) = delete;
  ~JpegFile() { jpeg_destroy_decompress(&jpeg); }
};

[[noreturn]] void on_jpeg_error(j_common_ptr jpeg) {
  auto* file = static_cast<JpegFile*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, file->problem.data());
  std::longjmp(file->failed, 1);
}

/// Treats truncated files as errors, while libjpeg would fill in gray.
void on_jpeg_warning(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  const int code = jpeg->err->msg_code;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE) {
    on_jpeg_error(jpeg);
  }
}

void on_jpeg_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMaxScans) {
    ERREXIT(jpeg, JERR_BAD_PROGRESSION);
  }
}

bool read_jpeg_header(JpegFile& file, std::string_view bytes) {
  if (setjmp(file.failed) != 0) return false;
  jpeg_create_decompress(&file.jpeg);
  file.jpeg.client_data = &file;
  file.jpeg.progress = &file.progress;
  jpeg_mem_src(&file.jpeg, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_save_markers(&file.jpeg, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&file.jpeg, TRUE);
  return true;
}

bool read_jpeg_rows(JpegFile& file, RgbImage& rgb_image) {
  if (setjmp(file.failed) != 0) return false;
  file.jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&file.jpeg);
  while (file.jpeg.output_scanline < file.jpeg.output_height) {
    JSAMPROW line = rgb_image.row(file.jpeg.output_scanline);
    jpeg_read_scanlines(&file.jpeg, &line, 1);
  }
  jpeg_finish_decompress(&file.jpeg);
  return true;
}

[[noreturn]] void refuse_jpeg(const JpegFile& file, const std::string& where) {
  refuse_image_file(where, "is a damaged JPEG image: " + printable(file.problem.data()));
}

}  // namespace

StoredImage read_jpeg(std::string_view bytes, const std::string& where) {
  JpegFile file;
  file.jpeg.err = jpeg_std_error(&file.errors);
  file.errors.error_exit = on_jpeg_error;
  file.errors.emit_message = on_jpeg_warning;
  file.progress.progress_monitor = on_jpeg_progress;
  file.jpeg.client_data = &file;
  if (!read_jpeg_header(file, bytes)) refuse_jpeg(file, where);
  if (file.jpeg.num_components == 4) {
    refuse_image_file(where, "is a CMYK JPEG image, expected RGB or grayscale",
                      "save the image as RGB");
  }
  check_image_size(file.jpeg.image_height, file.jpeg.image_width, where);
  StoredImage out;
  out.rgb_image = {.rows = file.jpeg.image_height, .cols = file.jpeg.image_width, .rgb = {}};
  out.rgb_image.rgb.resize(static_cast<std::size_t>(out.rgb_image.rows * out.rgb_image.cols) * 3);
  for (auto* marker = file.jpeg.marker_list; marker != nullptr; marker = marker->next) {
    const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
    if (data.starts_with("Exif")) {
      out.orientation = exif_orientation(data);
      break;
    }
  }
  if (!read_jpeg_rows(file, out.rgb_image)) refuse_jpeg(file, where);
  return out;
}

}  // namespace attnscope
