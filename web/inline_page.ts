import { createHash } from "node:crypto";
import type { Plugin } from "vite";

const hash = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Puts the one script and the one sheet into the page and their hashes into its policy. `name`: of the written file. */
export function inline_page(name: string): Plugin {
  return {
    name: "inline-page",
    enforce: "post",
    generateBundle(_options, bundle) {
      const files = Object.values(bundle);
      const pages = files.filter((file) => file.fileName.endsWith(".html"));
      const scripts = files.filter((file) => file.type === "chunk");
      const sheets = files.filter((file) => file.fileName.endsWith(".css"));
      const [page, script, sheet] = [pages[0], scripts[0], sheets[0]];
      if (files.length !== 3 || page?.type !== "asset" || script?.type !== "chunk" || sheet?.type !== "asset")
        throw new Error(`one page, script and sheet wanted: ${files.map((file) => file.fileName).join(", ")}`);

      // Either would change where the script ends for the parser of HTML.
      if (/<\/script|<!--/i.test(script.code)) throw new Error("the script holds an end tag or a comment of HTML");
      const css = String(sheet.source).trim();
      const code = script.code.trim();
      page.source = String(page.source)
        .replace(/<script type="module"[^>]*><\/script>\s*/, "")
        .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${css}</style>`)
        .replace("</body>", () => `<script type="module">${code}</script>\n</body>`)
        .replace("@@script@@", hash(code))
        .replace("@@style@@", hash(css));
      page.fileName = name;
      delete bundle[script.fileName];
      delete bundle[sheet.fileName];
    },
  };
}
