import { defineConfig } from "vitest/config";

export default defineConfig({
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  // The theme test reads the style sheet; without `css` vitest hands out an empty one.
  test: { css: true, environment: "happy-dom", include: ["test/**/*.test.{ts,tsx}"] },
});
