import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { defineConfig, type Plugin } from "vite";
import { decompress } from "wawoff2";

/** The page's font, uncompressed, for PNG files of charts. */
function font_of_charts(): Plugin {
  return {
    name: "font-of-charts",
    async generateBundle() {
      const path = createRequire(import.meta.url).resolve("@fontsource-variable/inter/files/inter-latin-wght-normal.woff2");
      this.emitFile({ type: "asset", fileName: "charts.ttf", source: await decompress(await readFile(path)) });
    },
  };
}

// The charts alone, for an engine that has nothing but the language: no page, no network, no clock.
export default defineConfig({
  plugins: [font_of_charts()],
  build: {
    target: "es2020",
    outDir: process.env.ATTNSCOPE_PAGE_FOLDER ?? "dist",
    emptyOutDir: false,
    lib: { entry: "src/exported_charts.ts", formats: ["iife"], name: "charts", fileName: () => "charts.js" },
  },
});
