// Handing a file to the user.

import type { Subject } from "./picture-menu";

export type Saving = "allowed" | "forbidden" | "unknown";

export function saveFile(name: string, content: string | Blob, type: string): void {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content], { type }) : content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A sandboxed frame may forbid downloads, and tells no script; one that has no origin cannot look at its own attributes. */
export function saving(): Saving {
  if (window.parent === window) return "allowed";
  if (framesAround(window).some(forbidsDownloads)) return "forbidden";
  return window.origin === "null" ? "unknown" : "allowed";
}

/** From the innermost out, as far as pages may look at each other. */
function framesAround(inner: Window): Element[] {
  try {
    const { frameElement, parent } = inner;
    return frameElement === null || parent === inner ? [] : [frameElement, ...framesAround(parent)];
  } catch {
    return [];
  }
}

function forbidsDownloads(frame: Element): boolean {
  const allowed = frame.getAttribute("sandbox");
  return allowed !== null && !allowed.toLowerCase().split(/\s+/).includes("allow-downloads");
}

/** What a menu says once it has saved; `copying` names the item beside it that works where nothing was. */
export function savedWords(copying: string): string {
  const is = saving();
  if (is === "allowed") return "Saved";
  return is === "forbidden"
    ? `This frame forbids saving: ${copying}`
    : `If nothing was saved, this frame forbids it: ${copying}`;
}

/** "images-after-steps-3-to-7.csv"; `only`: what its rows are narrowed to. */
export function fileName(name: string, suffix: string, of: Subject | null = null, only = ""): string {
  const plain = `${of?.name ?? ""} ${name} ${of?.steps ?? ""} ${only}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return `${plain || "data-pipeline"}.${suffix}`;
}
