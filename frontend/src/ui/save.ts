// Handing a file to the user.

/** Where a sandboxed frame forbids downloads nothing happens; copying still works there. */
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

/** "images-after-steps.csv": `of` says of what, as `PictureOf` does, its name first. */
export function fileName(name: string, suffix: string, of: string | null = null): string {
  const [whose = ""] = of?.split(" · ") ?? [];
  const plain = `${whose} ${name}`
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return `${plain || "data-pipeline"}.${suffix}`;
}
