//! Attributes of SVG elements: numbers, colors, paths.

use roxmltree::Node;
use tiny_skia::{Color, LineCap, LineJoin, Paint, Path, PathBuilder, Rect};

/// Attributes that elements inherit.
#[derive(Clone)]
pub struct Style<'a> {
    pub fill: Option<Color>,
    pub fill_opacity: f32,
    pub stroke: Option<Color>,
    pub stroke_opacity: f32,
    pub stroke_width: f32,
    pub dashes: Vec<f32>,
    pub line_join: LineJoin,
    pub line_cap: LineCap,
    pub font_family: &'a str,
    pub font_size: f32,
    pub font_weight: f32,
    pub text_anchor: &'a str,
}

impl Default for Style<'_> {
    fn default() -> Self {
        Style {
            fill: Some(Color::BLACK),
            fill_opacity: 1.0,
            stroke: None,
            stroke_opacity: 1.0,
            stroke_width: 1.0,
            dashes: Vec::new(),
            line_join: LineJoin::Miter,
            line_cap: LineCap::Butt,
            font_family: "",
            font_size: 16.0,
            font_weight: 400.0,
            text_anchor: "start",
        }
    }
}

impl<'a> Style<'a> {
    /// The style of an element inside this one.
    pub fn inside<'b>(&self, node: Node<'b, '_>) -> Result<Style<'b>, String>
    where
        'a: 'b,
    {
        let mut style: Style<'b> = Style {
            font_family: self.font_family,
            text_anchor: self.text_anchor,
            ..self.clone()
        };
        for attribute in node.attributes() {
            let value = attribute.value();
            match attribute.name() {
                "fill" => style.fill = color(value)?,
                "fill-opacity" => style.fill_opacity = self.fill_opacity * parsed(value)?,
                "stroke" => style.stroke = color(value)?,
                "stroke-opacity" => style.stroke_opacity = self.stroke_opacity * parsed(value)?,
                "stroke-width" => style.stroke_width = parsed(value)?,
                "stroke-dasharray" => style.dashes = dashes(value)?,
                "stroke-linejoin" if value == "round" => style.line_join = LineJoin::Round,
                "stroke-linecap" if value == "round" => style.line_cap = LineCap::Round,
                "font-size" => style.font_size = relative(value, self.font_size)?,
                "font-weight" => style.font_weight = parsed(value)?,
                _ => {}
            }
        }
        if let Some(family) = node.attribute("font-family") {
            style.font_family = family;
        }
        if let Some(anchor) = node.attribute("text-anchor") {
            style.text_anchor = anchor;
        }
        Ok(style)
    }
}

pub fn parsed(text: &str) -> Result<f32, String> {
    text.trim()
        .parse()
        .map_err(|_| format!("'{text}' is not a number"))
}

/// An attribute; 0 if missing.
pub fn number(node: Node, name: &str) -> Result<f32, String> {
    node.attribute(name).map_or(Ok(0.0), parsed)
}

/// A length in pixels, or in em of the font size.
pub fn relative(text: &str, font_size: f32) -> Result<f32, String> {
    match text.strip_suffix("em") {
        Some(em) => Ok(parsed(em)? * font_size),
        None => parsed(text),
    }
}

fn dashes(text: &str) -> Result<Vec<f32>, String> {
    if text == "none" {
        return Ok(Vec::new());
    }
    let mut all = text
        .split([' ', ','])
        .filter(|part| !part.is_empty())
        .map(parsed)
        .collect::<Result<Vec<f32>, String>>()?;
    if all.len() % 2 == 1 {
        all.extend_from_within(..);
    }
    Ok(all)
}

/// "#rrggbb", "#rgb", "none" or "transparent".
fn color(text: &str) -> Result<Option<Color>, String> {
    if text == "none" || text == "transparent" {
        return Ok(None);
    }
    let unknown = || format!("unknown color '{text}'");
    let digits = text
        .strip_prefix('#')
        .filter(|digits| digits.is_ascii())
        .ok_or_else(unknown)?;
    let hex = |part: &str| u8::from_str_radix(part, 16).map_err(|_| unknown());
    let [red, green, blue] = match digits.len() {
        6 => [
            hex(&digits[0..2])?,
            hex(&digits[2..4])?,
            hex(&digits[4..6])?,
        ],
        3 => [
            hex(&digits[0..1])? * 17,
            hex(&digits[1..2])? * 17,
            hex(&digits[2..3])? * 17,
        ],
        _ => return Err(unknown()),
    };
    Ok(Some(Color::from_rgba8(red, green, blue, 255)))
}

pub fn paint_of(color: Option<Color>, opacity: f32) -> Option<Paint<'static>> {
    let mut color = color?;
    color.apply_opacity(opacity);
    let mut paint = Paint::default();
    paint.set_color(color);
    Some(paint)
}

/// A rectangle with rounded corners.
pub fn rounded(rect: Rect, radius: f32) -> Option<Path> {
    let radius = radius.min(rect.width() / 2.0).min(rect.height() / 2.0);
    if radius <= 0.0 {
        return Some(PathBuilder::from_rect(rect));
    }
    let near = radius * 0.447_715_25; // distance of control points from the corner, for a circle
    let (left, top, right, bottom) = (rect.left(), rect.top(), rect.right(), rect.bottom());
    let mut path = PathBuilder::new();
    path.move_to(left + radius, top);
    path.line_to(right - radius, top);
    path.cubic_to(right - near, top, right, top + near, right, top + radius);
    path.line_to(right, bottom - radius);
    path.cubic_to(
        right,
        bottom - near,
        right - near,
        bottom,
        right - radius,
        bottom,
    );
    path.line_to(left + radius, bottom);
    path.cubic_to(
        left + near,
        bottom,
        left,
        bottom - near,
        left,
        bottom - radius,
    );
    path.line_to(left, top + radius);
    path.cubic_to(left, top + near, left + near, top, left + radius, top);
    path.close();
    path.finish()
}

/// The next number of path data: "1.5-.5" has two.
fn next_number(text: &mut &str) -> Result<Option<f32>, String> {
    let rest = text.trim_start_matches([' ', ',', '\n']);
    let bytes = rest.as_bytes();
    let mut end = 0;
    let (mut dot, mut exponent) = (false, false);
    while let Some(&byte) = bytes.get(end) {
        match byte {
            b'0'..=b'9' => {}
            b'+' | b'-' if end == 0 || matches!(bytes[end - 1], b'e' | b'E') => {}
            b'.' if !dot && !exponent => dot = true,
            b'e' | b'E' if end > 0 && !exponent => exponent = true,
            _ => break,
        }
        end += 1;
    }
    *text = rest;
    if end == 0 {
        return Ok(None);
    }
    *text = &rest[end..];
    parsed(&rest[..end]).map(Some)
}

/// Path data with the commands M, L, H, V, C, Q and Z, absolute or relative.
pub fn path_of(data: &str) -> Result<Option<Path>, String> {
    let mut path = PathBuilder::new();
    let (mut rest, mut at, mut start) = (data, (0.0, 0.0), (0.0, 0.0));
    let mut command = ' ';
    loop {
        rest = rest.trim_start_matches([' ', ',', '\n']);
        let Some(letter) = rest.chars().next() else {
            break;
        };
        if letter.is_ascii_alphabetic() {
            command = letter;
            rest = &rest[1..];
        }
        let base = if command.is_ascii_lowercase() {
            at
        } else {
            (0.0, 0.0)
        };
        let count = match command.to_ascii_uppercase() {
            'M' | 'L' => 2,
            'H' | 'V' => 1,
            'Q' => 4,
            'C' => 6,
            'Z' if letter.is_ascii_alphabetic() => 0,
            _ => return Err(format!("unknown path command '{letter}'")),
        };
        let mut n = [0.0; 6];
        for place in n.iter_mut().take(count) {
            *place = next_number(&mut rest)?.ok_or("a path lacks a number")?;
        }
        let point = |index: usize| (base.0 + n[index], base.1 + n[index + 1]);
        match command.to_ascii_uppercase() {
            'M' => {
                at = point(0);
                start = at;
                path.move_to(at.0, at.1);
                command = if command == 'm' { 'l' } else { 'L' };
                continue;
            }
            'L' => at = point(0),
            'H' => at.0 = base.0 + n[0],
            'V' => at.1 = base.1 + n[0],
            'Q' => {
                at = point(2);
                path.quad_to(point(0).0, point(0).1, at.0, at.1);
                continue;
            }
            'C' => {
                at = point(4);
                path.cubic_to(point(0).0, point(0).1, point(2).0, point(2).1, at.0, at.1);
                continue;
            }
            _ => {
                path.close();
                at = start;
                continue;
            }
        }
        path.line_to(at.0, at.1);
    }
    Ok(path.finish())
}

pub fn base64(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes().take_while(|letter| *letter != b'=') {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err("invalid base64".into()),
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Ok(bytes)
}
