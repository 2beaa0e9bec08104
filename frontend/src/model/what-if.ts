// A change that is asked for, as a link and the route's query have it. Pure.

import type { Stage } from "../contract/report";

export type Asked = {
  readonly workers: string;
  readonly prefetch: string;
  /** "" = as captured. */
  readonly order: "" | "on" | "off";
  readonly batch: string;
  readonly pinned: boolean;
  /** Name of a stage, "" for none, and the factor of its time. */
  readonly stage: string;
  readonly factor: string;
  /** The stage is the device's, in place of the factor. */
  readonly moved: boolean;
};

export const NOTHING_ASKED: Asked = {
  workers: "",
  prefetch: "",
  order: "",
  batch: "",
  pinned: false,
  stage: "",
  factor: "0.5",
  moved: false,
};

const ON_DEVICE = "=device";

/** Kept beside one another: links stay short, and the table can be read. */
const MOST_CHANGES = 8;

/** "workers=4&stage=transform::Blur=0.5x"; "" for the usual changes. */
export function writtenChange({ workers, prefetch, order, batch, pinned, stage, factor, moved }: Asked): string {
  const query = new URLSearchParams();
  if (workers !== "") query.set("workers", workers);
  if (prefetch !== "") query.set("prefetch", prefetch);
  if (order !== "") query.set("in_order", order);
  if (batch !== "") query.set("batch", batch);
  if (pinned) query.set("pin", "on");
  if (stage !== "") query.set(moved ? "move" : "stage", moved ? stage + ON_DEVICE : `${stage}=${factor}x`);
  return query.toString();
}

/** Whoever typed it: what is not understood counts as not there. */
export function askedIn(text: string): Asked {
  const query = new URLSearchParams(text);
  const order = query.get("in_order");
  const move = query.get("move") ?? "";
  const moved = move.endsWith(ON_DEVICE);
  const stage = moved ? move : (query.get("stage") ?? "");
  const cut = stage.lastIndexOf("=");
  return {
    workers: query.get("workers") ?? "",
    prefetch: query.get("prefetch") ?? "",
    order: order === "on" || order === "off" ? order : "",
    batch: query.get("batch") ?? "",
    pinned: query.get("pin") === "on",
    stage: cut < 0 ? "" : stage.slice(0, cut),
    moved,
    factor: cut < 0 || moved ? NOTHING_ASKED.factor : stage.slice(cut + 1).replace(/x$/, ""),
  };
}

/** Between changes in a link; in none of them, as `writtenChange` has it. */
const BETWEEN = ";";
const USUAL = "usual";

/** Several changes in one text of a link, the newest first; null where there are none. */
export function writtenChanges(changes: readonly string[]): string | null {
  return changes.length === 0 ? null : changes.map((change) => change || USUAL).join(BETWEEN);
}

/** Each once. */
export function changesIn(text: string | null): string[] {
  const changes = (text ?? "").split(BETWEEN).filter((change) => change !== "");
  return [...new Set(changes.map((change) => (change === USUAL ? "" : change)))].slice(0, MOST_CHANGES);
}

/** With another one asked for, which comes first; the oldest goes where there are many. */
export function withChange(changes: readonly string[], change: string): string[] {
  return [change, ...changes.filter((other) => other !== change)].slice(0, MOST_CHANGES);
}

/** What a change is called: as its row in the table, where it has one row. */
export function nameOfChange(change: string): string {
  const { workers, prefetch, order, batch, pinned, stage, factor, moved } = askedIn(change);
  const parts = [
    workers && `workers=${workers}`,
    prefetch && `prefetch_factor=${prefetch}`,
    batch && `batch=${batch}`,
    order && `in_order=${order === "on" ? "True" : "False"}`,
    pinned && "pin_memory=True",
    stage && (moved ? stage + ON_DEVICE : `${stage}=${factor}x`),
  ];
  return parts.filter(Boolean).join(", ") || "The usual changes";
}

/** In one line, or null. */
export function problemOf({ workers, prefetch, batch, stage, factor, moved }: Asked): string | null {
  if (!areWorkers(workers)) return "DataLoader workers: a whole number from 0 to 64, or several as 0..8 or 1,2,4.";
  if (!isWhole(prefetch, 1)) return "The prefetch_factor: a whole number from 1 to 64.";
  if (!isWhole(batch, 1, 99_999)) return "Samples per batch: a whole number from 1 to 99999.";
  if (moved && stage === "transfer") return "The transfer cannot be moved to the device; choose a stage.";
  const times = Number(factor);
  const isFactor = factor.trim() !== "" && times >= 0 && times <= 10;
  return stage !== "" && !isFactor ? "The stage's time: a factor from 0 to 10." : null;
}

/** As the command takes them. */
function areWorkers(text: string): boolean {
  const [first = "", last] = text.split("..");
  if (last === undefined) return text === "" || text.split(",").every((one) => one !== "" && isWhole(one, 0));
  return first !== "" && last !== "" && isWhole(first, 0) && isWhole(last, 0) && Number(first) <= Number(last);
}

function isWhole(text: string, least: number, most = 64): boolean {
  const number = Number(text);
  return text === "" || (/^\d+$/.test(text) && number >= least && number <= most);
}

/** Names of stages, first those that the data wait is of: what other stages are called by seldom has any of it. */
export function stagesToChange(stages: readonly Stage[]): string[] {
  const sums = new Map<string, { waitUs: number; selfUs: number }>();
  for (const { path, blame_us = 0, self_us } of stages) {
    const name = path.at(-1);
    if (name === undefined || name.startsWith("wait::")) continue;
    const { waitUs, selfUs } = sums.get(name) ?? { waitUs: 0, selfUs: 0 };
    sums.set(name, { waitUs: waitUs + blame_us, selfUs: selfUs + self_us });
  }
  const sorted = [...sums].sort(([, a], [, b]) => b.waitUs - a.waitUs || b.selfUs - a.selfUs);
  return sorted.map(([name]) => name);
}

/** Of a stage that calls all others only its own code is predicted to change (docs/whatif.md). */
export function callsOthers(stage: string): boolean {
  return ["sample::", "wrapper::"].some((kind) => stage.startsWith(kind));
}
