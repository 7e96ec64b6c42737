// Tokens as displayed: invisible characters get a visible symbol, and no character can affect the page.

const kSigns: Readonly<Record<string, string>> = { "\n": "⏎", "\t": "⇥", "\r": "␍", " ": " " };

/** A token on one line, without bidirectional effects: control characters as symbols, other invisible characters as U+… */
export function shown_token(text: string): string {
  if (/^(\\n)+$/.test(text)) return "⏎".repeat(text.length / 2); // the program's form of line breaks
  const shown = [...text]
    .map((character) => {
      const code = character.codePointAt(0) ?? 0;
      const sign = kSigns[character];
      if (sign) return sign;
      if (code < 0x20) return String.fromCodePoint(0x2400 + code);
      const unseen =
        code === 0x7f ||
        (code >= 0x80 && code < 0xa0) ||
        (code >= 0x200b && code <= 0x200f) ||
        (code >= 0x2028 && code <= 0x202e) ||
        (code >= 0x2060 && code <= 0x206f) ||
        code === 0xfeff;
      return unseen ? `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩` : character;
    })
    .join("");
  return shown.trim() === "" ? "␣".repeat(Math.max(1, shown.length)) : shown;
}

/** Whether a line break follows this token. */
export const ends_line = (text: string): boolean => /\n|^(\\n)+$/.test(text);
