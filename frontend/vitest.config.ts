import { defineConfig } from "vitest/config";

// Only what draws gets a document: making one costs a second per file.
const DRAWN = [
  "test/views/**/*.test.tsx",
  "test/ui/**/*.test.tsx",
  "test/state/**/*.test.ts",
  "test/data/embedded.test.ts",
];

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  test: {
    // The theme test reads the style sheet; without `css` vitest hands out an empty one.
    css: true,
    // `make test` runs them beside the tests of Python, where they may wait for a core.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "threads",
    projects: [
      { extends: true, test: { name: "pure", environment: "node", include: ["test/**/*.test.ts"], exclude: DRAWN } },
      { extends: true, test: { name: "drawn", environment: "happy-dom", include: DRAWN } },
    ],
  },
});
