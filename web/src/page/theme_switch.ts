// Light or dark theme: the system's setting until the reader selects one. Printing always uses the light theme.
import { kDark, kLight, type Theme } from "../chart/theme";

const kKey = "attnscope-theme";

function stored(): string | null {
  try {
    return localStorage.getItem(kKey);
  } catch {
    return null; // a page from a file may have no storage
  }
}

export function current_theme(): Theme {
  const name = stored() ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  return name === "dark" ? kDark : kLight;
}

export function apply_theme(theme: Theme): void {
  document.documentElement.dataset.theme = theme.name;
}

export function other_theme(theme: Theme): Theme {
  const other = theme.name === "dark" ? kLight : kDark;
  try {
    localStorage.setItem(kKey, other.name);
  } catch {
    // Without storage, the choice lasts until the page is closed.
  }
  return other;
}
