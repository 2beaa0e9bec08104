// Ranks of a run: whose capture it is, and which causes of lost time are stages.

import type { Ranks } from "../contract/report";
import { STAGE_KINDS } from "../contract/words";

/** "" where the rank has none. */
export function captureOf(ranks: Ranks, rank: number | undefined): string {
  return ranks.rows.find((row) => row.rank === rank)?.capture ?? "";
}

const KINDS: ReadonlySet<string> = new Set(STAGE_KINDS.map(({ id }) => id));

/** Those of `causes` that are stages with spans: a batch on its way is in none. */
export function stagesAmong(causes: readonly string[]): readonly string[] {
  return causes.filter((cause) => KINDS.has(cause.split("::")[0] ?? "") && !cause.startsWith("transfer"));
}
