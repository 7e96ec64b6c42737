/* tiny-skia behind a C interface. Only attnscope/page/chart_files.cpp includes it. */
#ifndef ATTNSCOPE_RUST_PICTURE_H
#define ATTNSCOPE_RUST_PICTURE_H

#include "attnscope/base/rust_bytes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `failed`: the SVG is malformed, or has elements that charts do not use. `too_large`: too many
 * pixels, or none. */
enum { picture_ok = 0, picture_failed = 1, picture_too_large = 2 };

/* Draws an SVG as PNG. `svg`: UTF-8. `font`: an OpenType font with variable weight, for all texts;
 * letters that it lacks come from the fonts of the system. `scale`: pixels per unit of the SVG.
 * `answer`: the PNG, or else what is wrong. */
int picture_draw(const uint8_t* svg, size_t svg_size, const uint8_t* font, size_t font_size,
                 float scale, rust_bytes* answer);

#ifdef __cplusplus
}
#endif
#endif
