//! Uses of the filters `safe` and `escape` that this engine renders in another way than Jinja.
//!
//! In Jinja, `+` escapes `& < > ' "` in what is added to the result of these filters. This engine
//! does not, so templates in which it may matter are refused. What is added to a variable that
//! keeps such a result is only known to matter if it is a text of the template.

const FILTERS: [&str; 4] = ["safe", "escape", "e", "forceescape"];
const ESCAPED: [char; 5] = ['&', '<', '>', '\'', '"'];

/// The code of a tag, with each of its texts replaced by a space, and the texts.
struct Tag {
    code: String,
    texts: Vec<String>,
}

impl Tag {
    /// Parses what follows "{{" or "{%". Returns the rest after the tag, too.
    fn parse(inside: &str, end: &str) -> (Tag, usize) {
        let mut tag = Tag {
            code: String::new(),
            texts: Vec::new(),
        };
        let mut quote = None;
        let mut escaped = false;
        for (at, letter) in inside.char_indices() {
            match quote {
                None if inside[at..].starts_with(end) => return (tag, at + end.len()),
                None if letter == '\'' || letter == '"' => {
                    quote = Some(letter);
                    tag.code.push(' ');
                    tag.texts.push(String::new());
                }
                None => tag.code.push(letter),
                Some(_) if escaped => {
                    escaped = false;
                    tag.texts.last_mut().expect("a text has begun").push(letter);
                }
                Some(_) if letter == '\\' => escaped = true,
                Some(open) if letter == open => quote = None,
                Some(_) => tag.texts.last_mut().expect("a text has begun").push(letter),
            }
        }
        (tag, inside.len())
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.code
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|word| !word.is_empty())
    }

    fn has_filter(&self) -> bool {
        self.code.split('|').skip(1).any(|after| {
            let after = after.trim_start();
            let end = after.find(|letter: char| !letter.is_alphanumeric());
            FILTERS.contains(&&after[..end.unwrap_or(after.len())])
        })
    }

    /// Whether it adds. A sign at an end of the tag controls white space.
    fn adds(&self) -> bool {
        self.code.trim_matches(['+', '-']).contains('+')
    }

    /// The variable that the tag sets.
    fn variable(&self) -> Option<&str> {
        let mut words = self.words();
        (words.next() == Some("set"))
            .then(|| words.next())
            .flatten()
    }
}

fn tags(template: &str) -> Vec<Tag> {
    let mut tags = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        rest = &rest[start + 1..];
        let end = match rest.chars().next() {
            Some('{') => "}}",
            Some('%') => "%}",
            _ => continue,
        };
        let (tag, after) = Tag::parse(&rest[1..], end);
        tags.push(tag);
        rest = &rest[1 + after..];
    }
    tags
}

pub fn check(template: &str) -> Result<(), String> {
    let tags = tags(template);
    let marked: Vec<&Tag> = tags.iter().filter(|tag| tag.has_filter()).collect();
    if marked.iter().any(|tag| tag.adds()) {
        return Err("it adds texts to the result of the filter 'safe' or 'escape'".to_string());
    }
    for name in marked.iter().filter_map(|tag| tag.variable()) {
        let added = tags.iter().find(|tag| {
            tag.adds()
                && tag.words().any(|word| word == name)
                && tag.texts.iter().any(|text| text.contains(ESCAPED))
        });
        if added.is_some() {
            return Err(format!(
                "it adds texts to '{name}', the result of the filter 'safe' or 'escape'"
            ));
        }
    }
    Ok(())
}
