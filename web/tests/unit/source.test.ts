// Checks beyond the compiler and the formatter. A non-null assertion crashes on the first report with a null.
import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const kSource = resolve(__dirname, "../../src");

/** Lists every `!` after an expression or a declared name, as "data/load.ts:12: x!". */
function assertions_in(name: string, text: string): string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const asserts =
      ts.isNonNullExpression(node) ||
      ((ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node)) && node.exclamationToken !== undefined);
    if (asserts) found.push(`${name}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${node.getText().slice(0, 60)}`);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

test("no source file has a non-null assertion", () => {
  const files = readdirSync(kSource, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  expect(files.length).toBeGreaterThan(80);
  expect(files.flatMap((name) => assertions_in(name, readFileSync(resolve(kSource, name), "utf8")))).toEqual([]);
});

test("a non-null assertion is detected", () => {
  expect(assertions_in("a.ts", "const a = list[0]!.name;\nlet b!: number;\nconst c = a !== b && !a;")).toEqual([
    "a.ts:1: list[0]!",
    "a.ts:2: b!: number",
  ]);
});

test("no line is longer than the formatter's limit, including strings, comments and style sheets", () => {
  const web = resolve(__dirname, "../..");
  const { printWidth } = JSON.parse(readFileSync(resolve(web, "package.json"), "utf8")).prettier as { printWidth: number };
  const files = ["src", "tests"].flatMap((folder) =>
    readdirSync(resolve(web, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  );
  const long = files
    .filter((name) => /\.(ts|css)$/.test(name))
    .flatMap((name) =>
      readFileSync(resolve(web, name), "utf8")
        .split("\n")
        .flatMap((line, index) => ([...line].length > printWidth ? [`${name}:${index + 1}`] : [])),
    );
  expect(long).toEqual([]);
});
