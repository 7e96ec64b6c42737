import { defineConfig } from "vite";
import { inline_page } from "./inline_page";

// The small page of attention maps, for cells of notebooks.
export default defineConfig({
  base: "./",
  plugins: [inline_page("heads.html")],
  build: {
    target: "es2022",
    outDir: process.env.ATTNSCOPE_PAGE_FOLDER ?? "dist",
    emptyOutDir: false,
    cssCodeSplit: false,
    modulePreload: false,
    rollupOptions: { input: "heads.html", output: { inlineDynamicImports: true } },
  },
});
