// A table as text for other programs: CSV with exact values, Markdown as it stands on screen.

export type Cell = {
  readonly text: string;
  /** In microseconds, in bytes, or as the report has it. */
  readonly exactUs?: number;
  readonly exactBytes?: number;
  readonly exact?: number;
  /** Of `exact`, where the rows of a table have units of their own. */
  readonly unit?: string;
};

export type TableText = { readonly heads: readonly string[]; readonly rows: readonly (readonly Cell[])[] };

const UNIT = /(?:^|, )(?:µs|ms|s|min|[kMGT]?B)$/;

/** Comma-separated, RFC 4180. Times are microseconds and sizes bytes, and their columns' heads say so; shares in columns of % are percentages. */
export function asCsv({ heads, rows }: TableText): string {
  const head = heads.map((text, at) => {
    const unit = exactUnit(rows.map((row) => row[at]));
    return unit === null ? text : `${text.replace(UNIT, "")} (${unit})`.trim();
  });
  const units = rows.map((row) => row.find(({ unit }) => unit !== undefined)?.unit);
  const hasUnits = units.some((unit) => unit !== undefined);
  const lines = rows.map((row, number) => [
    ...row.map((cell, at) => exactText(cell, heads[at] ?? "")),
    ...(hasUnits ? [units[number] ?? ""] : []),
  ]);
  return [hasUnits ? [...head, "Unit"] : head, ...lines].map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
}

function exactUnit(cells: readonly (Cell | undefined)[]): string | null {
  if (cells.some((cell) => cell?.exactUs !== undefined)) return "µs";
  return cells.some((cell) => cell?.exactBytes !== undefined) ? "B" : null;
}

function exactText(cell: Cell, head: string): string {
  if (cell.exactUs !== undefined) return String(cell.exactUs);
  if (cell.exactBytes !== undefined) return String(cell.exactBytes);
  if (cell.exact === undefined) return cell.text === "–" ? "" : cell.text;
  if (cell.unit !== undefined) return String(cell.exact);
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

/** Code between backticks stays as it is, but for what ends a cell. */
function escaped(text: string): string {
  const parts = text.replace(/\s+/g, " ").split(/(`[^`]+`)/);
  return parts
    .map((part, at) => (at % 2 === 1 ? part.replaceAll("|", "\\|") : part.replace(/[\\|<_*`]/g, "\\$&")))
    .join("");
}
