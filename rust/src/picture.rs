//! Draws an SVG of attnscope's own charts as PNG: the elements and attributes that the charts use.

mod shapes;
mod small_png;
mod text;

use crate::boundary::{guarded, slice, Bytes};
use roxmltree::{Document, Node};
use shapes::{number, paint_of, path_of, rounded, Style};
use small_png::encoded;
use std::sync::Arc;
use text::Fonts;
use tiny_skia::{
    FillRule, FilterQuality, Mask, Path, PathBuilder, Pattern, Pixmap, Rect, SpreadMode, Stroke,
    StrokeDash, Transform,
};

/// Enough for every chart. More pixels would only need memory.
const MOST_PIXELS: f32 = 1e8;

struct Canvas<'a> {
    pixmap: Pixmap,
    fonts: &'a Fonts<'a>,
}

/// Where an element is drawn.
#[derive(Clone)]
struct Place<'a> {
    transform: Transform,
    clip: Option<Arc<Mask>>,
    style: Style<'a>,
}

fn transform_of(text: &str) -> Result<Transform, String> {
    let mut all = Transform::identity();
    for call in text.split_inclusive(')') {
        let call = call.trim();
        if call.is_empty() {
            continue;
        }
        let (name, rest) = call.split_once('(').ok_or("invalid transform")?;
        let numbers = rest
            .trim_end_matches(')')
            .split([' ', ','])
            .filter(|part| !part.is_empty())
            .map(|part| part.parse::<f32>().map_err(|error| error.to_string()))
            .collect::<Result<Vec<f32>, String>>()?;
        let next = match (name.trim(), numbers.as_slice()) {
            ("translate", [x]) => Transform::from_translate(*x, 0.0),
            ("translate", [x, y]) => Transform::from_translate(*x, *y),
            ("scale", [by]) => Transform::from_scale(*by, *by),
            ("scale", [x, y]) => Transform::from_scale(*x, *y),
            ("rotate", [angle]) => Transform::from_rotate(*angle),
            ("rotate", [angle, x, y]) => Transform::from_rotate_at(*angle, *x, *y),
            _ => return Err(format!("unknown transform '{call}'")),
        };
        all = all.pre_concat(next);
    }
    Ok(all)
}

impl Canvas<'_> {
    fn draw(&mut self, node: Node, outer: &Place) -> Result<(), String> {
        let mut place = Place {
            style: outer.style.inside(node)?,
            ..outer.clone()
        };
        if let Some(transform) = node.attribute("transform") {
            place.transform = place.transform.pre_concat(transform_of(transform)?);
        }
        match node.tag_name().name() {
            "g" => self.children(node, &place),
            "svg" => {
                if node.parent_element().is_some() {
                    self.enter(node, &mut place)?;
                }
                self.children(node, &place)
            }
            "rect" => {
                let [x, y, width, height, rx] =
                    ["x", "y", "width", "height", "rx"].map(|name| number(node, name));
                let path = Rect::from_xywh(x?, y?, width?, height?)
                    .and_then(|rect| rounded(rect, rx.ok()?));
                self.shape(path, &place);
                Ok(())
            }
            "circle" => {
                let path = PathBuilder::from_circle(
                    number(node, "cx")?,
                    number(node, "cy")?,
                    number(node, "r")?,
                );
                self.shape(path, &place);
                Ok(())
            }
            "line" => {
                let mut path = PathBuilder::new();
                path.move_to(number(node, "x1")?, number(node, "y1")?);
                path.line_to(number(node, "x2")?, number(node, "y2")?);
                self.stroke(&path.finish(), &place);
                Ok(())
            }
            "path" => {
                let path = path_of(node.attribute("d").unwrap_or_default())?;
                self.shape(path, &place);
                Ok(())
            }
            "image" => self.image(node, &place),
            "text" => {
                let paths = self.fonts.layout(node, &place.style)?;
                for (path, style) in paths {
                    self.fill(
                        &Some(path),
                        &Place {
                            style,
                            ..place.clone()
                        },
                    );
                }
                Ok(())
            }
            "title" | "desc" => Ok(()),
            other => Err(format!("unknown element <{other}>")),
        }
    }

    fn children(&mut self, node: Node, place: &Place) -> Result<(), String> {
        node.children()
            .filter(Node::is_element)
            .try_for_each(|child| self.draw(child, place))
    }

    /// Moves to the position of a nested <svg> and clips to its box.
    fn enter(&self, node: Node, place: &mut Place) -> Result<(), String> {
        place.transform = place
            .transform
            .pre_translate(number(node, "x")?, number(node, "y")?);
        let area = Rect::from_xywh(0.0, 0.0, number(node, "width")?, number(node, "height")?);
        let Some(area) = area else { return Ok(()) };
        if node.attribute("overflow") == Some("visible") {
            return Ok(());
        }
        let path = PathBuilder::from_rect(area);
        let mut mask = match &place.clip {
            Some(mask) => (**mask).clone(),
            None => {
                let mut mask =
                    Mask::new(self.pixmap.width(), self.pixmap.height()).ok_or("too large")?;
                mask.fill_path(&path, FillRule::Winding, true, place.transform);
                place.clip = Some(Arc::new(mask));
                return Ok(());
            }
        };
        mask.intersect_path(&path, FillRule::Winding, true, place.transform);
        place.clip = Some(Arc::new(mask));
        Ok(())
    }

    fn shape(&mut self, path: Option<Path>, place: &Place) {
        self.fill(&path, place);
        self.stroke(&path, place);
    }

    fn fill(&mut self, path: &Option<Path>, place: &Place) {
        let (Some(path), Some(paint)) =
            (path, paint_of(place.style.fill, place.style.fill_opacity))
        else {
            return;
        };
        self.pixmap.fill_path(
            path,
            &paint,
            FillRule::Winding,
            place.transform,
            place.clip.as_deref(),
        );
    }

    fn stroke(&mut self, path: &Option<Path>, place: &Place) {
        let style = &place.style;
        let (Some(path), Some(paint)) = (path, paint_of(style.stroke, style.stroke_opacity)) else {
            return;
        };
        let stroke = Stroke {
            width: style.stroke_width,
            dash: StrokeDash::new(style.dashes.clone(), 0.0),
            line_join: style.line_join,
            line_cap: style.line_cap,
            ..Stroke::default()
        };
        self.pixmap.stroke_path(
            path,
            &paint,
            &stroke,
            place.transform,
            place.clip.as_deref(),
        );
    }

    fn image(&mut self, node: Node, place: &Place) -> Result<(), String> {
        let source = node.attribute("href").unwrap_or_default();
        let bytes = source
            .strip_prefix("data:image/png;base64,")
            .ok_or("expected a PNG image")?;
        let image =
            Pixmap::decode_png(&shapes::base64(bytes)?).map_err(|error| error.to_string())?;
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(node, name));
        let (x, y, width, height) = (x?, y?, width?, height?);
        let Some(area) = Rect::from_xywh(x, y, width, height) else {
            return Ok(());
        };
        let pixelated = node.attribute("image-rendering") == Some("pixelated");
        let scale =
            Transform::from_scale(width / image.width() as f32, height / image.height() as f32);
        let paint = tiny_skia::Paint {
            shader: Pattern::new(
                image.as_ref(),
                SpreadMode::Pad,
                if pixelated {
                    FilterQuality::Nearest
                } else {
                    FilterQuality::Bilinear
                },
                1.0,
                scale.post_translate(x, y),
            ),
            ..Default::default()
        };
        self.pixmap
            .fill_rect(area, &paint, place.transform, place.clip.as_deref());
        Ok(())
    }
}

const OK: i32 = 0;
const FAILED: i32 = 1;
const TOO_LARGE: i32 = 2;

fn drawn(svg: &str, font: &[u8], scale: f32) -> Result<(i32, Vec<u8>), String> {
    let document = Document::parse(svg).map_err(|error| error.to_string())?;
    let root = document.root_element();
    let (width, height) = (
        number(root, "width")? * scale,
        number(root, "height")? * scale,
    );
    if !(width >= 1.0 && height >= 1.0 && width * height <= MOST_PIXELS) {
        let message = format!("the image would have {width:.0} × {height:.0} pixels");
        return Ok((TOO_LARGE, message.into_bytes()));
    }
    let pixmap = Pixmap::new(width.ceil() as u32, height.ceil() as u32).ok_or("too large")?;
    let fonts = Fonts::new(font)?;
    let mut canvas = Canvas {
        pixmap,
        fonts: &fonts,
    };
    let place = Place {
        transform: Transform::from_scale(scale, scale),
        clip: None,
        style: Style::default(),
    };
    canvas.draw(root, &place)?;
    Ok((OK, encoded(&canvas.pixmap)?))
}

/// # Safety
/// See rust_picture.h.
#[no_mangle]
pub unsafe extern "C" fn picture_draw(
    svg: *const u8,
    svg_size: usize,
    font: *const u8,
    font_size: usize,
    scale: f32,
    answer: &mut Bytes,
) -> i32 {
    let outcome = guarded(|| {
        let svg = std::str::from_utf8(slice(svg, svg_size)).map_err(|error| error.to_string())?;
        drawn(svg, slice(font, font_size), scale)
    });
    let (status, bytes) = outcome.unwrap_or_else(|message| (FAILED, message.into_bytes()));
    *answer = Bytes::of(bytes);
    status
}
