import { defineConfig } from "vite";

// The charts alone, for an engine that has nothing but the language: no page, no network, no clock.
export default defineConfig({
  build: {
    target: "es2020",
    emptyOutDir: false,
    lib: { entry: "src/exported_charts.ts", formats: ["iife"], name: "charts", fileName: () => "charts.js" },
  },
});
