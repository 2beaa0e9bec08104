// The names of every colour the page uses. Raw values live in light.ts, dark.ts and stage-colors.ts and nowhere else.

import { CAUSES, NO_STAGES, STAGE_KINDS } from "../contract/words";

const PAGE = [
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
] as const;

const ACTIVITY = ["operator", "runtime", "kernel", "copy", "step", "batch", "process"] as const;

/** Of a comparison: what takes more time than before, and less. */
const CHANGES = ["more", "less"] as const;

export type StageKind = (typeof STAGE_KINDS)[number]["id"];
type NoStage = (typeof NO_STAGES)[number]["id"];
type CauseToken = `idle:${(typeof CAUSES)[number]["id"]}`;

/** A word of Python's tables without a colour does not compile: a palette has all of these. */
export type Token =
  | (typeof PAGE)[number]
  | (typeof ACTIVITY)[number]
  | (typeof CHANGES)[number]
  | StageKind
  | NoStage
  | CauseToken;
export type Palette = Readonly<Record<Token, string>>;

/** In the order of legends: stages, data wait that no stage caused, activity, causes of idle time. */
export const TOKENS: readonly Token[] = [
  ...new Set<Token>([
    ...PAGE,
    ...STAGE_KINDS.map(({ id }) => id),
    ...NO_STAGES.map(({ id }) => id),
    ...ACTIVITY,
    ...CAUSES.map(({ id }) => `idle:${id}` as const),
    ...CHANGES,
  ]),
];

/** Loud on purpose: a token nobody defined must be seen, not guessed. */
export const MISSING_COLOR = "#FF1493";

const HATCHED: ReadonlySet<string> = new Set<Token>([
  "wait",
  "idle:unknown",
  "starved",
  "unrecorded",
  "other_loader",
  "other",
]);

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
