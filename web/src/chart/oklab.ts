// Color mixing in OKLab (Ottosson 2020), a perceptually uniform color space.

type Triple = readonly [number, number, number];

const to_linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const to_gamma = (value: number) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

function linear_rgb(hex: string): Triple {
  const number = parseInt(hex.slice(1), 16);
  return [to_linear((number >> 16) / 255), to_linear(((number >> 8) & 255) / 255), to_linear((number & 255) / 255)];
}

export function oklab(hex: string): Triple {
  const [r, g, b] = linear_rgb(hex);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function hex_of([lightness, a, b]: Triple): string {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channels = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const byte = (value: number) => Math.round(255 * to_gamma(Math.min(1, Math.max(0, value))));
  return `#${channels.map((value) => byte(value).toString(16).padStart(2, "0")).join("")}`;
}

/** Mixes two colors; the fraction of `second` is 0 to 1. */
export function mix(first: string, second: string, share: number): string {
  const [from, to] = [oklab(first), oklab(second)];
  const between = (index: 0 | 1 | 2) => from[index] + (to[index] - from[index]) * share;
  return hex_of([between(0), between(1), between(2)]);
}

/** At least one color. */
export type Ramp = readonly [string, ...string[]];

/** `count` colors interpolated between equally spaced stops. */
export function ramp(stops: Ramp, count = 256): Ramp {
  const color = (index: number) => {
    const place = (index / (count - 1)) * (stops.length - 1);
    const below = Math.floor(place);
    return mix(stops[below] ?? stops[0], stops[Math.min(stops.length - 1, below + 1)] ?? stops[0], place - below);
  };
  return [color(0), ...Array.from({ length: count - 1 }, (_, index) => color(index + 1))];
}

/** Relative luminance, 0 to 1, as WCAG defines it. */
export function luminance(hex: string): number {
  const [r, g, b] = linear_rgb(hex);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever has more contrast with the background. */
export const text_on = (ground: string): string => (luminance(ground) > 0.179 ? "#000000" : "#ffffff");
