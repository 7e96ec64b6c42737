//! Encodes a picture as a small PNG: charts have few colors, and large areas of one color.

use std::collections::HashMap;
use tiny_skia::Pixmap;

type Color = [u8; 3];

const MOST_COLORS: usize = 256;

/// The largest change of a channel, from 0 to 255, that a palette may make. Only colors that few
/// pixels have change, which are those of smoothed edges.
const MOST_CHANGE: u8 = 40;

/// The pixels without alpha, if all are opaque.
fn opaque(pixmap: &Pixmap) -> Option<Vec<Color>> {
    pixmap
        .data()
        .chunks_exact(4)
        .map(|pixel| (pixel[3] == 255).then_some([pixel[0], pixel[1], pixel[2]]))
        .collect()
}

/// The colors, the most frequent first.
fn colors_of(pixels: &[Color]) -> Vec<Color> {
    let mut counts: HashMap<Color, usize> = HashMap::new();
    for run in pixels.chunk_by(|one, other| one == other) {
        *counts.entry(run[0]).or_default() += run.len();
    }
    let mut colors: Vec<(usize, Color)> = counts
        .into_iter()
        .map(|(color, count)| (count, color))
        .collect();
    colors.sort_unstable_by(|one, other| other.cmp(one));
    colors.into_iter().map(|(_, color)| color).collect()
}

fn change(one: Color, other: Color) -> u8 {
    (0..3)
        .map(|at| one[at].abs_diff(other[at]))
        .max()
        .unwrap_or(0)
}

/// The place in the palette of each color, or None if a color would change too much.
fn places(colors: &[Color], palette: &[Color]) -> Option<HashMap<Color, u8>> {
    let near = |&color: &Color| {
        let changes = palette.iter().map(|&one| change(color, one)).enumerate();
        let (place, least) = changes.min_by_key(|&(_, change)| change)?;
        (least <= MOST_CHANGE).then_some((color, place as u8))
    };
    colors.iter().map(near).collect()
}

fn written(
    size: (u32, u32),
    palette: Option<Vec<u8>>,
    data: &[u8],
) -> Result<Vec<u8>, png::EncodingError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_color(match palette {
        Some(_) => png::ColorType::Indexed,
        None => png::ColorType::Rgb,
    });
    if let Some(palette) = palette {
        encoder.set_palette(palette);
    }
    // Filters make lines of few colors larger.
    encoder.set_filter(png::FilterType::NoFilter);
    encoder.set_compression(png::Compression::Best);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(data)?;
    writer.finish()?;
    Ok(file)
}

/// The picture as PNG: with a palette if 256 colors are enough, and with alpha only if needed.
pub fn encoded(pixmap: &Pixmap) -> Result<Vec<u8>, String> {
    let Some(pixels) = opaque(pixmap) else {
        return pixmap.encode_png().map_err(|error| error.to_string());
    };
    let size = (pixmap.width(), pixmap.height());
    let colors = colors_of(&pixels);
    let palette = &colors[..colors.len().min(MOST_COLORS)];
    let file = match places(&colors, palette) {
        Some(places) => {
            let indices: Vec<u8> = pixels.iter().map(|pixel| places[pixel]).collect();
            written(size, Some(palette.concat()), &indices)
        }
        None => written(size, None, &pixels.concat()),
    };
    file.map_err(|error| error.to_string())
}
