// Bundles the page. Same sources and lockfile -> same bytes: no source map, no time stamp, no absolute path.
import { build } from "esbuild";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outIndex = process.argv.indexOf("--outdir");
const outdir = outIndex > 0 ? process.argv[outIndex + 1] : join(root, "..", "tb_dataplugin", "static");

await build({
  absWorkingDir: root,
  entryPoints: [
    { in: "src/index.tsx", out: "index" },
    { in: "src/theme/index.css", out: "index" },
  ],
  outdir,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "inline",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { "process.env.NODE_ENV": '"production"' },
  logLevel: "warning",
});
