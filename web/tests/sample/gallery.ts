// Draws every kind of chart for visual inspection: npx vite-node tests/sample/gallery.ts OUT.html
import { writeFileSync } from "node:fs";
import { chart_tree } from "../../src/chart/chart";
import { kDark, kLight } from "../../src/chart/theme";
import { svg_text } from "../../src/chart/svg_tree";
import { kEveryChart } from "../unit/every_chart";

const pictures = [kLight, kDark].map(
  (theme) =>
    `<div style="background:${theme.ground}">${kEveryChart.map((chart) => svg_text(chart_tree(chart, theme, 620))).join("\n")}</div>`,
);
writeFileSync(
  process.argv[2] ?? "gallery.html",
  `<!doctype html><meta charset="utf-8"><div style="display:grid;grid-template-columns:1fr 1fr">${pictures.join("")}</div>`,
);
