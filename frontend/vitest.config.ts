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
      // What is pure leaves nothing behind: its files share their modules.
      { extends: true, test: { name: "pure", isolate: false, include: ["test/**/*.test.ts"], exclude: DRAWN } },
      // Each file in a context of its own, in threads that stay: half the time of a thread per file.
      { extends: true, test: { name: "drawn", pool: "vmThreads", environment: "happy-dom", include: DRAWN } },
    ],
  },
});
