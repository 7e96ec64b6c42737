import { defineConfig } from "vite";
import { inline_page } from "./inline_page";

export default defineConfig({
  base: "./",
  plugins: [inline_page("report.html")],
  build: {
    target: "es2022",
    outDir: process.env.ATTNSCOPE_PAGE_FOLDER ?? "dist",
    emptyOutDir: true,
    assetsInlineLimit: 200_000, // the font: it becomes a data: address in the sheet
    cssCodeSplit: false,
    modulePreload: false,
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
});
