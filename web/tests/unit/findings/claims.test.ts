// Every kind of finding has a claim, and docs/findings.md contains all claims. UPDATE=1 updates the file.
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { claims_table, kClaims } from "../../../src/findings/claims";
import { kKinds } from "../../../src/findings/all_findings";

const kDocs = new URL("../../../../docs/findings.md", import.meta.url);
const kTable = /(<!-- claims -->\n)[^]*(<!-- \/claims -->)/;

test("every kind has a claim", () => {
  const of_one_file = Object.keys(kKinds).map((kind) => (kind === "zero_heads" ? "zero_matrices" : kind));
  expect(Object.keys(kClaims).sort()).toEqual([...new Set([...of_one_file, "model_like_random"])].sort());
  for (const claim of Object.values(kClaims)) for (const words of Object.values(claim)) expect(words).not.toMatch(/^$|undefined|NaN/);
});

test("docs/findings.md contains the table of claims", () => {
  const docs = readFileSync(kDocs, "utf8");
  const made = docs.replace(kTable, (_, head: string, tail: string) => `${head}\n${claims_table()}\n\n${tail}`);
  if (process.env.UPDATE) writeFileSync(kDocs, made);
  else expect(docs).toBe(made);
});
