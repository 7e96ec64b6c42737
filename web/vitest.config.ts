import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    fileParallelism: false, // two browsers at once would starve each other
    projects: [
      { test: { name: "unit", include: ["tests/unit/**/*.test.ts"] } },
      {
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 5_000 } }, // the page is drawn again a moment after its address changed
        },
      },
    ],
  },
});
