import type { Matrix } from "../data/report_file";
import { mix, ramp, type Ramp } from "./oklab";

export interface Theme {
  name: "light" | "dark";
  ground: string;
  panel: string;
  ink: string; // titles and numbers
  soft: string; // notes
  faint: string; // axes
  line: string; // hairlines
  accent: string;
  baseline_line: string;
  mark: string; // frame of the selection, visible on any map color
  roles: Readonly<Record<Matrix, string>>;
  sequential: Ramp; // 256 steps, weak to strong
  diverging: Ramp; // 256 steps, -1 to +1
  models: Ramp; // by the model's index in the report
}

export const kFont = "Inter, system-ui, sans-serif";
export const kMono = "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
export const kDash = "4 3"; // dashes of every baseline

type Roles = Theme["roles"];
type Derived = "q_a" | "q_b" | "kv_a" | "kv_b" | "attention_gate" | "qk_content" | "qk_rotary" | "qk_latent" | "ov_latent";

/** Latent projections and parts of circuits have the color of the matrix to which they belong. */
const with_derived = (roles: Omit<Roles, Derived>): Roles => ({
  ...roles,
  q_a: roles.router,
  q_b: roles.q,
  kv_a: roles.shared_gate,
  kv_b: roles.kv,
  attention_gate: roles.shared_up,
  qk_content: roles.qk,
  qk_rotary: roles.k,
  qk_latent: roles.down,
  ov_latent: roles.ov,
});

export const kLight: Theme = {
  name: "light",
  ground: "#FAFAF7",
  panel: "#FFFFFF",
  ink: "#15171C",
  soft: "#474D59",
  faint: "#686F7C",
  line: "#E2E2DC",
  accent: "#1F5FBF",
  baseline_line: "#8A8F98",
  mark: "#B3261E",
  roles: with_derived({
    q: "#2375D9",
    k: "#2E9AC2",
    v: "#A96000",
    o: "#8D0000",
    qk: "#5A33A8",
    ov: "#85604F",
    kv: "#6B777C",
    gate: "#204B43",
    up: "#779C48",
    down: "#A1217F",
    router: "#C2557C",
    shared_gate: "#4A8A7B",
    shared_up: "#4F7416",
    shared_down: "#C268A8",
  }),
  sequential: ramp(["#F1F3EC", "#D9E8DC", "#A5D3C4", "#63B5B4", "#3390AA", "#256899", "#24407E", "#1B1B4B"]),
  diverging: ramp(["#8A2F0B", "#C4622D", "#E5A57E", "#F2D9C9", "#F1F1EC", "#CFE0EC", "#8DB8D9", "#3E7FB8", "#14477F"]),
  models: ["#2375D9", "#A96000", "#A1217F", "#779C48", "#5A33A8", "#6B777C"],
};

export const kDark: Theme = {
  name: "dark",
  ground: "#0E1014",
  panel: "#14171D",
  ink: "#ECEDF1",
  soft: "#B7BDC9",
  faint: "#8D95A4",
  line: "#2A2F3A",
  accent: "#8AB4FF",
  baseline_line: "#7C8492",
  mark: "#FF6B4A",
  roles: with_derived({
    q: "#6F92FB",
    k: "#70ECFF",
    v: "#EC9F00",
    o: "#D9482A",
    qk: "#7A62EA",
    ov: "#BC9073",
    kv: "#8A857C",
    gate: "#85C5A9",
    up: "#BDE981",
    down: "#D15FAC",
    router: "#F0A3BB",
    shared_gate: "#4F8F7A",
    shared_up: "#8FB451",
    shared_down: "#EFA6D6",
  }),
  sequential: ramp(["#12151B", "#1E2550", "#254A80", "#2B7196", "#3E98A0", "#6DBE9F", "#B4DD9F", "#F6F7C1"]),
  diverging: ramp(["#FFC9A3", "#E08A55", "#A9532A", "#5B3324", "#20242C", "#233E5C", "#2F6EA8", "#68A8DD", "#C3E2FB"]),
  models: ["#6F92FB", "#EC9F00", "#D15FAC", "#BDE981", "#7A62EA", "#8A857C"],
};

/** Meaning of a line or point, which the theme maps to a color. */
export type Color =
  | { role: Matrix }
  | { layer: number; of: number } // on the sequential scale
  | { model: number }
  | "null"
  | "accent"
  | "ink"
  | "soft"
  | "faint";

const step = (colors: Ramp, share: number): string =>
  colors[Math.round(Math.min(1, Math.max(0, share)) * (colors.length - 1))] ?? colors[0];

/** 0 weak to 1 strong. */
export const sequential = (theme: Theme, share: number): string => step(theme.sequential, share);

/** -1 to +1. */
export const diverging = (theme: Theme, share: number): string => step(theme.diverging, (share + 1) / 2);

export function color_of(theme: Theme, color: Color): string {
  if (color === "null") return theme.baseline_line;
  if (color === "accent" || color === "ink" || color === "soft" || color === "faint") return theme[color];
  if ("role" in color) return theme.roles[color.role];
  if ("model" in color) return theme.models[color.model % theme.models.length] ?? theme.models[0];
  // The weakest quarter of the scale has too little contrast for a line.
  return sequential(theme, 0.28 + 0.72 * (color.of > 1 ? color.layer / (color.of - 1) : 0.6));
}

/** Text color for a line's label, with enough contrast. Pale layer colors are replaced by the soft text color. */
export function text_color(theme: Theme, color: Color): string {
  return typeof color === "object" && "layer" in color ? theme.soft : mix(theme.ink, color_of(theme, color), 0.58);
}
