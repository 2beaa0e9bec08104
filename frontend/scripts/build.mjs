// Bundles the page. Same sources and lockfile -> same bytes: no source map, no time stamp, no absolute path.
// --watch builds again at each change; TensorBoard serves what is there, so a refresh shows it.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const outIndex = process.argv.indexOf("--outdir");
const outdir = outIndex > 0 ? process.argv[outIndex + 1] : join(root, "..", "tb_dataplugin", "static");

const options = {
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
};

if (process.argv.includes("--watch")) await (await context(options)).watch();
else await build(options);
