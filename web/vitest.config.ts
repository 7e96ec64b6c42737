import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    minWorkers: 1,
    maxWorkers: 2, // a browser leaves a core idle half of its time; more of them at once would starve each other
    projects: [
      { test: { name: "site", include: ["tests/site/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000 } },
      { test: { name: "unit", include: ["tests/unit/**/*.test.ts"], testTimeout: 60_000 } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.ts"],
          globalSetup: "tests/browser/sample_reports.ts",
          // Only tests that fail take as long: machines may be slow, and busy.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          expect: { poll: { timeout: 30_000 } }, // the page is drawn again a moment after its address changed
        },
      },
    ],
  },
});
