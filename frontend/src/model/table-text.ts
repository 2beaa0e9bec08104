// A table as text for other programs: CSV with exact values, Markdown as it stands on screen.

export type Cell = {
  readonly text: string;
  /** In microseconds, or as the report has it. */
  readonly exactUs?: number;
  readonly exact?: number;
};

export type TableText = { readonly heads: readonly string[]; readonly rows: readonly (readonly Cell[])[] };

const TIME_UNIT = /(?:^|, )(?:µs|ms|s|min)$/;

/** Comma-separated, RFC 4180. Times are microseconds, and their columns' heads say so; shares in columns of % are percentages. */
export function asCsv({ heads, rows }: TableText): string {
  const timed = heads.map((_, at) => rows.some((row) => row[at]?.exactUs !== undefined));
  const head = heads.map((text, at) => (timed[at] === true ? `${text.replace(TIME_UNIT, "")} (µs)`.trim() : text));
  const lines = rows.map((row) => row.map((cell, at) => exactText(cell, heads[at] ?? "")));
  return [head, ...lines].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
}

function exactText(cell: Cell, head: string): string {
  if (cell.exactUs !== undefined) return String(cell.exactUs);
  if (cell.exact === undefined) return cell.text === "–" ? "" : cell.text;
  if (cell.text.endsWith("%")) return `${100 * cell.exact}%`;
  return String(head.includes("%") ? 100 * cell.exact : cell.exact);
}

/** What a spreadsheet would run as a formula is quoted as text. */
function quoted(text: string): string {
  const safe = /^[=+@\t\r]/.test(text) || /^-(?![\d.])/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function asMarkdown({ heads, rows }: TableText): string {
  const numeric = heads.map((_, at) => rows.every((row) => isNumeric(row[at]?.text ?? "")));
  const line = (texts: readonly string[]): string => `| ${texts.map(escaped).join(" | ")} |\n`;
  const rule = `| ${numeric.map((is) => (is ? "---:" : "---")).join(" | ")} |\n`;
  return [line(heads), rule, ...rows.map((row) => line(heads.map((_, at) => row[at]?.text ?? "")))].join("");
}

function isNumeric(text: string): boolean {
  return /^[−-]?[\d.,]+|^–$|^$/.test(text);
}

function escaped(text: string): string {
  return text.replace(/[\\|<]/g, "\\$&").replace(/\s+/g, " ");
}
