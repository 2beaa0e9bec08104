// Causes of idle time: how a time divides into them.

import type { IdleByCause } from "../contract/report";
import { CAUSES } from "../contract/words";
import { labelOf } from "./words";

export type Cause = (typeof CAUSES)[number]["id"];

export type Part = {
  readonly name: string;
  readonly us: number;
  readonly token: string;
  /** What the name means, where it does not say so; "" or absent: it does. */
  readonly meaning?: string;
};
export type CausePart = Part & { readonly cause: Cause };

export function asCause(name: string): Cause {
  return CAUSES.find(({ id }) => id === name)?.id ?? "unknown";
}

export function causeLabel(cause: Cause): string {
  return labelOf(CAUSES, cause);
}

export function causeToken(cause: Cause): string {
  return `idle:${cause}`;
}

/** The causes with any time, largest first. */
export function causeParts(causes: IdleByCause | undefined): CausePart[] {
  if (causes === undefined) return [];
  return CAUSES.map(({ id, label }) => ({ cause: id, name: label, us: causes[id] ?? 0, token: causeToken(id) }))
    .filter((part) => part.us > 0)
    .sort((a, b) => b.us - a.us);
}

/** From the bottom of a stack to its top: the data wait last, so that its ups and downs stand out against the rest. */
export const STACK_ORDER: readonly Cause[] = ["launch", "h2d", "sync", "host", "comm", "unknown", "data_wait"];
