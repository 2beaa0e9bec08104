// Causes of idle time: their names, what they mean, and how a time divides into them.

import type { IdleByCause } from "../contract/report";

/** As in `IdleByCause`, from what the host did to what is not known. */
export const CAUSES = ["data_wait", "h2d", "sync", "launch", "host", "comm", "unknown"] as const;
export type Cause = (typeof CAUSES)[number];

export type Part = { readonly name: string; readonly us: number; readonly token: string };
export type CausePart = Part & { readonly cause: Cause };

const WORDS: Readonly<Record<Cause, string>> = {
  data_wait: "data wait",
  h2d: "host-to-device copy",
  sync: "synchronisation",
  launch: "launch",
  host: "host code",
  comm: "communication",
  unknown: "unknown",
};

const MEANINGS: Readonly<Record<Cause, string>> = {
  data_wait: "The training thread waits for a batch.",
  h2d: "The host is in a host-to-device copy.",
  sync: "The host is blocked in a synchronising call.",
  launch:
    "The host runs operators or runtime calls, more slowly than the device finishes them; or what it launched did not start yet.",
  host: "The launching thread is in none of these: Python, logging, a checkpoint.",
  comm: "The host is blocked in a collective: it waits for other ranks.",
  unknown: "Nothing was recorded there.",
};

export function asCause(name: string): Cause {
  return CAUSES.find((cause) => cause === name) ?? "unknown";
}

export function causeWords(name: string): string {
  return (WORDS as Readonly<Record<string, string>>)[name] ?? name;
}

export function causeMeaning(cause: Cause): string {
  return MEANINGS[cause];
}

export function causeToken(cause: Cause): string {
  return `idle:${cause}`;
}

/** The causes with any time, largest first. */
export function causeParts(causes: IdleByCause | undefined): CausePart[] {
  if (causes === undefined) return [];
  return CAUSES.map((cause) => ({ cause, name: causeWords(cause), us: causes[cause] ?? 0, token: causeToken(cause) }))
    .filter((part) => part.us > 0)
    .sort((a, b) => b.us - a.us);
}

/** From the bottom of a stack to its top: the data wait last, so that its ups and downs stand out against the rest. */
export const STACK_ORDER: readonly Cause[] = ["launch", "h2d", "sync", "host", "comm", "unknown", "data_wait"];
