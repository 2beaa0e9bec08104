// A stand-in for TensorBoard while the page is being worked on: same iframe page, same Content-Security-Policy, sample
// reports. http://localhost:6010/<scenario>/ with scenario train, replay, workers, loaders, loading, empty, down; ?dark=1 for dark.
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { answer } from "./samples.mjs";

const statics = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "tb_dataplugin", "static");
const CSP =
  "default-src 'self';font-src 'self' data:;frame-ancestors *;frame-src 'self' https://ui.perfetto.dev data:;" +
  "img-src 'self' data: blob:;object-src 'none';style-src 'self' https://www.gstatic.com data: 'unsafe-inline';" +
  "connect-src 'self' data: https://www.gstatic.com;script-src 'self' 'unsafe-eval' 'sha256-IMPORT'";
const SCRIPT = 'import("./index.js").then((m) => void m.render());';
const TYPES = { js: "text/javascript", css: "text/css", html: "text/html; charset=utf-8", json: "application/json" };

async function scriptHash() {
  const { createHash } = await import("node:crypto");
  return createHash("sha256").update(SCRIPT).digest("base64");
}

function host(dark) {
  const frame = '<iframe src="data/plugin_entry.html" style="position:fixed;inset:0;border:0;width:100%;height:100%"></iframe>';
  return `<!DOCTYPE html><body class="${dark ? "dark-mode" : ""}" style="margin:0">${frame}</body>`;
}

const ENTRY = `<!DOCTYPE html><head><base href="plugin/data_pipeline/" /></head><body><script type="module">${SCRIPT}</script></body>`;

async function reply(url) {
  const [, scenario = "train", ...rest] = url.pathname.split("/");
  const path = rest.join("/");
  if (path === "") return { type: TYPES.html, body: host(url.searchParams.has("dark")) };
  if (path === "data/plugin_entry.html") return { type: TYPES.html, body: ENTRY };
  const route = path.replace("data/plugin/data_pipeline/", "");
  if (route === "index.js" || route === "index.css") {
    return { type: TYPES[route.split(".")[1]], body: await readFile(join(statics, route)) };
  }
  const { status, json } = answer(scenario, route, url.searchParams);
  return { status, type: TYPES.json, body: JSON.stringify(json) };
}

const csp = CSP.replace("IMPORT", await scriptHash());
createServer((request, response) => {
  reply(new URL(request.url ?? "/", "http://localhost")).then(({ status = 200, type, body }) => {
    response.writeHead(status, { "content-type": type, "content-security-policy": csp, "x-content-type-options": "nosniff" });
    response.end(body);
  });
}).listen(Number(process.env.PORT ?? 6010), () => console.log("http://localhost:" + (process.env.PORT ?? 6010) + "/train/"));
