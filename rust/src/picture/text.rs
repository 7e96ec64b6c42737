//! Texts as outlines of glyphs. Letters that the embedded font lacks come from the system's fonts.

use super::shapes::{number, relative, Style};
use fontdb::{Database, Family, Query, ID};
use roxmltree::Node;
use std::sync::OnceLock;
use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, GlyphId, OutlineBuilder, Tag};

/// Drawn for letters that no font has.
const SUBSTITUTES: [(char, &str); 12] = [
    ('→', "->"),
    ('≈', "~"),
    ('≤', "<="),
    ('≥', ">="),
    ('√', "sqrt"),
    ('\u{202f}', " "),
    ('\u{a0}', " "),
    ('␣', "_"),
    ('⏎', "\\n"),
    ('▴', "^"),
    ('▾', "v"),
    ('↑', "^"),
];

pub struct Fonts<'a> {
    font: Face<'a>,
}

/// The system's fonts, which are listed once and read when a letter needs them.
fn system() -> &'static Database {
    static SYSTEM: OnceLock<Database> = OnceLock::new();
    SYSTEM.get_or_init(|| {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        fonts
    })
}

struct Outline(PathBuilder);

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y)
    }
    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y)
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y)
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y)
    }
    fn close(&mut self) {
        self.0.close()
    }
}

/// A glyph in em units, y downward.
struct Glyph {
    path: Option<Path>,
    advance: f32,
}

fn glyph_of(face: &Face, id: GlyphId) -> Glyph {
    let em = f32::from(face.units_per_em());
    let mut outline = Outline(PathBuilder::new());
    face.outline_glyph(id, &mut outline);
    let path = outline
        .0
        .finish()
        .and_then(|path| path.transform(Transform::from_scale(1.0 / em, -1.0 / em)));
    Glyph {
        path,
        advance: f32::from(face.glyph_hor_advance(id).unwrap_or_default()) / em,
    }
}

fn system_glyph(letter: char, monospaced: bool) -> Option<Glyph> {
    let fonts = system();
    let family = if monospaced {
        Family::Monospace
    } else {
        Family::SansSerif
    };
    let usual = fonts.query(&Query {
        families: &[family, Family::SansSerif],
        ..Query::default()
    });
    let others = fonts.faces().map(|face| face.id);
    usual.into_iter().chain(others).find_map(|id: ID| {
        fonts.with_face_data(id, |data, index| {
            let face = Face::parse(data, index).ok()?;
            let glyph = glyph_of(&face, face.glyph_index(letter)?);
            Some(glyph).filter(|glyph| glyph.path.is_some() || letter.is_whitespace())
        })?
    })
}

impl<'a> Fonts<'a> {
    /// `font`: an OpenType font with variable weight.
    pub fn new(font: &'a [u8]) -> Result<Fonts<'a>, String> {
        Face::parse(font, 0)
            .map(|font| Fonts { font })
            .map_err(|error| error.to_string())
    }

    fn glyphs(&self, letter: char, style: &Style, into: &mut Vec<Glyph>) {
        let mut face = self.font.clone();
        face.set_variation(Tag::from_bytes(b"wght"), style.font_weight);
        let own = |letter| face.glyph_index(letter).map(|id| glyph_of(&face, id));
        if let Some(glyph) = own(letter) {
            return into.push(glyph);
        }
        let substitute = SUBSTITUTES
            .iter()
            .find(|(from, _)| *from == letter)
            .map(|(_, to)| *to);
        if let Some(glyph) = system_glyph(letter, style.font_family.contains("monospace")) {
            return into.push(glyph);
        }
        // Inter has U+FFFD, the sign for an unknown letter.
        into.extend(substitute.unwrap_or("\u{fffd}").chars().filter_map(own));
    }

    /// The outlines of a <text>, each with its style.
    pub fn layout<'b>(
        &self,
        node: Node<'b, '_>,
        style: &Style<'b>,
    ) -> Result<Vec<(Path, Style<'b>)>, String> {
        let mut placed: Vec<(Path, Style<'b>)> = Vec::new();
        let (mut x, mut y) = (0.0, 0.0);
        let mut part = |text: &str, style: Style<'b>, y: f32| {
            let mut glyphs = Vec::new();
            text.chars()
                .for_each(|letter| self.glyphs(letter, &style, &mut glyphs));
            for glyph in glyphs {
                let size = style.font_size;
                let at = Transform::from_row(size, 0.0, 0.0, size, x, y);
                if let Some(path) = glyph.path.and_then(|path| path.transform(at)) {
                    placed.push((path, style.clone()));
                }
                x += glyph.advance * size;
            }
        };
        for child in node.children() {
            if let Some(text) = child.text().filter(|_| child.is_text()) {
                part(text, style.clone(), y);
            } else if child.has_tag_name("tspan") || child.tag_name().name() == "tspan" {
                let own = style.inside(child)?;
                y += relative(child.attribute("dy").unwrap_or("0"), own.font_size)?;
                part(child.text().unwrap_or_default(), own, y);
            }
        }
        let left = number(node, "x")?
            - match style.text_anchor {
                "middle" => x / 2.0,
                "end" => x,
                _ => 0.0,
            };
        let at = Transform::from_translate(left, number(node, "y")?);
        Ok(placed
            .into_iter()
            .filter_map(|(path, style)| Some((path.transform(at)?, style)))
            .collect())
    }
}
