// The names of every colour the page uses. Raw values live in light.ts and dark.ts and nowhere else.

export const TOKENS = [
  // page
  "paper",
  "ink",
  "ink-muted",
  "ink-faint",
  "rule",
  "rule-strong",
  "accent",
  "hover",
  "selected",
  "code-paper",
  // stage kinds; "startup", "starved", "unrecorded" and "other" are data wait that no stage caused
  "sampler",
  "wrapper",
  "read",
  "decode",
  "transform",
  "collate",
  "transfer",
  "h2d",
  "user",
  "wait",
  "sample",
  "startup",
  "starved",
  "unrecorded",
  "other",
  // device activity, steps and the batches of DataLoader workers
  "kernel",
  "copy",
  "step",
  "batch",
  // causes of idle time
  "idle:data_wait",
  "idle:h2d",
  "idle:launch",
  "idle:sync",
  "idle:host",
  "idle:comm",
  "idle:unknown",
] as const;

export type Token = (typeof TOKENS)[number];
export type Palette = Readonly<Record<Token, string>>;

/** Loud on purpose: a token nobody defined must be seen, not guessed. */
export const MISSING_COLOR = "#FF1493";

const HATCHED: ReadonlySet<string> = new Set(["wait", "idle:unknown", "starved", "unrecorded", "other"]);

export function isHatched(token: string): boolean {
  return HATCHED.has(token);
}

export function colorOf(palette: Palette, token: string): string {
  return (palette as Readonly<Record<string, string>>)[token] ?? MISSING_COLOR;
}

/** CSS custom property of a token; a colon is not allowed in an unescaped CSS name. */
export function cssName(token: string): string {
  return `--${token.replace(":", "-")}`;
}

/** For a style attribute. A token without a value is drawn in the missing colour. */
export function cssColor(token: string): string {
  return `var(${cssName(token)}, ${MISSING_COLOR})`;
}

/** CSS custom property of the ink that can be read on a token. */
export function inkName(token: string): string {
  return `--on-${token.replace(":", "-")}`;
}
