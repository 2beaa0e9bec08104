// A table as text for other programs: CSV with exact values, Markdown as it stands on screen.

export type Cell = {
  readonly text: string;
  /** All of what `text` has in short. */
  readonly exactText?: string;
  /** In microseconds, in bytes, or as the report has it. */
  readonly exactUs?: number;
  readonly exactBytes?: number;
  readonly exact?: number;
  /** Of `exact`, where the rows of a table have units of their own. */
  readonly unit?: string;
  /** Of an interval; an end that is not known is left out. */
  readonly ends?: Ends;
};

/** In microseconds, or as shares of 1. */
export type Ends = { readonly low?: number; readonly high?: number; readonly unit: "µs" | "%" };

export type TableText = { readonly heads: readonly string[]; readonly rows: readonly (readonly Cell[])[] };

const UNIT = /(?:^|, )(?:h:min:s|µs|ms|s|min|[kMGT]?B)$/;
/** Of a column that has none of its own in its cells. */
const ITS_UNIT = /, (h:min:s|µs|ms|s|min|[kMGT]?B|% of .+)$/;
const NUMBER = "[−+-]?[\\d.,]+";
/** A share, or times as many. */
const MARKED = new RegExp(`^${NUMBER}([%x])$`);
/** The same behind words, which say what the sign of the exact value does: "slower by 57.6%"; or of one near zero: "<0.01%". */
const MARKED_BEHIND_WORDS = new RegExp(`(?:^|\\s|<|>)${NUMBER}([%x])$`);

type Column = { readonly head: string; readonly texts: readonly string[] };

/**
 * Comma-separated, RFC 4180. Numbers stand alone, so that a spreadsheet takes them as such: their unit is in the head of
 * their column (times in microseconds, sizes in bytes), an interval has two columns.
 */
export function asCsv({ heads, rows }: TableText): string {
  const columns = heads.flatMap((head, at) =>
    columnsOf(
      head,
      rows.map((row) => row[at] ?? { text: "" }),
    ),
  );
  const units = rows.map((row) => row.find(({ unit }) => unit !== undefined)?.unit ?? "");
  const all = units.some((unit) => unit !== "") ? [...columns, { head: "Unit", texts: units }] : columns;
  const lines = [all.map(({ head }) => head), ...rows.map((_, at) => all.map(({ texts }) => texts[at] ?? ""))];
  return lines.map((line) => `${line.map(quoted).join(",")}\r\n`).join("");
}

function columnsOf(head: string, cells: readonly Cell[]): Column[] {
  const known = cells.filter(({ text }) => text !== "" && text !== "–");
  if (cells.some(({ ends }) => ends !== undefined)) return bounds(head, cells);
  const marks = new Set(
    known.map(({ text, exact }) => (exact === undefined ? MARKED : MARKED_BEHIND_WORDS).exec(text)?.[1]),
  );
  const [mark] = marks;
  const unit = exactUnit(cells) ?? (marks.size === 1 && !head.includes(mark ?? "") ? mark : undefined);
  return [{ head: withUnit(head, unit), texts: cells.map((cell) => exactText(cell, head)) }];
}

/** An interval as its two ends. */
function bounds(head: string, cells: readonly Cell[]): Column[] {
  const unit = cells.find(({ ends }) => ends !== undefined)?.ends?.unit;
  const name = head.replace(UNIT, "");
  return (["low", "high"] as const).map((end) => ({
    head: withUnit(`${name} ${end === "low" ? "from" : "to"}`, unit),
    texts: cells.map(({ ends }) => endText(ends?.[end], unit)),
  }));
}

function endText(value: number | undefined, unit: Ends["unit"] | undefined): string {
  if (value === undefined) return "";
  return String(withoutNoise(unit === "%" ? 100 * value : value));
}

/** "Data wait (µs)", "Of data wait (%)", "Device idle (% of window)": one form, whatever the head on screen has. */
function withUnit(head: string, unit: string | undefined): string {
  const text = unit === undefined ? head.replace(ITS_UNIT, " ($1)") : `${head.replace(UNIT, "")} (${unit})`.trim();
  return text.replace(/^of /, "Of ");
}

function exactUnit(cells: readonly Cell[]): string | undefined {
  if (cells.some(({ exactUs }) => exactUs !== undefined)) return "µs";
  return cells.some(({ exactBytes }) => exactBytes !== undefined) ? "B" : undefined;
}

function exactText({ text, exactText: whole, exact, exactUs, exactBytes, unit }: Cell, head: string): string {
  if (whole !== undefined) return whole;
  if (exactUs !== undefined) return String(withoutNoise(exactUs));
  if (exactBytes !== undefined) return String(exactBytes);
  if (text === "–") return "";
  if (exact === undefined) return MARKED.test(text) ? plainNumber(text.slice(0, -1)) : text;
  const isShare = unit === undefined && (text.endsWith("%") || head.includes("%"));
  return String(withoutNoise(isShare ? 100 * exact : exact));
}

/** More digits than any clock gives a number of the report: what is behind them is binary noise of sums and products. */
const DIGITS = 12;

/** Moments since 1970 are whole numbers. */
function withoutNoise(value: number): number {
  return Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS));
}

/** As programs write it: without plus and commas, and with the minus of the keyboard. */
function plainNumber(text: string): string {
  return text.replaceAll(",", "").replace("−", "-").replace("+", "");
}

/** What a spreadsheet would run as a formula is quoted as text. */
function quoted(text: string): string {
  const safe = /^[=+@\t\r]/.test(text) || /^-(?![\d.])/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** `caption`: a line above it, which says what its rows are narrowed to. */
export function asMarkdown({ heads, rows }: TableText, caption = ""): string {
  const numeric = heads.map((_, at) => rows.every((row) => isNumeric(row[at]?.text ?? "")));
  const line = (texts: readonly string[]): string => `| ${texts.map(escaped).join(" | ")} |\n`;
  const rule = `| ${numeric.map((is) => (is ? "---:" : "---")).join(" | ")} |\n`;
  const lines = [line(heads), rule, ...rows.map((row) => line(heads.map((_, at) => row[at]?.text ?? "")))];
  return `${caption === "" ? "" : `${escaped(caption)}\n\n`}${lines.join("")}`;
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
