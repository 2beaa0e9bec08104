// The sentences of the Stages and Idle gaps views and the parts of the Overview, from the report's own numbers.

import type { Capture, Device, IdleByCause, Step } from "../contract/report";
import { formatDuration, formatPercent, plural } from "./format";
import { causeWords } from "./hover";
import { isWork, stageName } from "./stage-tree";

export const CAUSES = ["data_wait", "h2d", "sync", "launch", "host", "comm", "unknown"] as const;
export type Cause = (typeof CAUSES)[number];

export type Part = { readonly name: string; readonly us: number; readonly token: string };

export function share(part: number, whole: number | undefined): number | undefined {
  return whole === undefined || whole <= 0 ? undefined : part / whole;
}

/** "41.3 %", or "–" when there is nothing to take a share of. */
export function shareWords(part: number, whole: number | undefined): string {
  const value = share(part, whole);
  return value === undefined ? "–" : formatPercent(value);
}

export function causeParts(causes: IdleByCause | undefined): Part[] {
  if (causes === undefined) return [];
  return CAUSES.map((cause) => ({ name: causeWords(cause), us: causes[cause] ?? 0, token: `idle:${cause}` }))
    .filter((part) => part.us > 0)
    .sort((a, b) => b.us - a.us);
}

/** Theme token of a blamed stage: its kind; the blames that are no stage have tokens of their own. */
export function stageToken(name: string): string {
  return name.split("::")[0] ?? name;
}

const BLAME_WORDS: Readonly<Record<string, string>> = {
  startup: "startup (not yet running)",
  starved: "starved (no index in its queue)",
  transfer: "transfer (result on its way)",
  unrecorded: "unrecorded (no record of who made the batch)",
  other: "other (between stages)",
};

export function stageParts(byStage: Readonly<Record<string, number>>): Part[] {
  return Object.entries(byStage)
    .map(([name, us]) => ({ name: BLAME_WORDS[name] ?? name, us, token: stageToken(name) }))
    .filter((part) => part.us > 0)
    .sort((a, b) => b.us - a.us);
}

/** The evidence without a first line that only says again what the sentence says: the same stage with the same share. */
export function newEvidence(sentence: string, evidence: readonly string[]): string[] {
  const plain = (text: string): string => text.replaceAll("\u00a0", " ");
  const [, name, share] = /^(\S+): .*?(\d[\d.]* %)/.exec(plain(evidence[0] ?? "")) ?? [];
  const repeats = name !== undefined && share !== undefined && plain(sentence).includes(name) && plain(sentence).includes(` ${share}`);
  return evidence.slice(repeats ? 1 : 0);
}

export function deviceName(device: Device): string {
  return device.name === "" ? `Device ${device.id}` : `Device ${device.id} (${device.name})`;
}

export function stagesSentence(capture: Capture): string {
  const work = capture.stages.filter(isWork);
  const sum = work.reduce((total, stage) => total + stage.self_us, 0);
  const largest = work.reduce<(typeof work)[number] | undefined>(
    (best, stage) => (best === undefined || stage.self_us > best.self_us ? stage : best),
    undefined,
  );
  if (largest === undefined) return "Only waiting was recorded: no stage of the loader has a span of its own.";
  const calls = plural(largest.count, "call");
  return (
    `${stageName(largest)} takes the most time of its own: ${formatDuration(largest.self_us)} in ${calls}, ` +
    `${shareWords(largest.self_us, sum)} of all recorded stage time.`
  );
}

function mainCause(main: Part, idleUs: number): string {
  const part = shareWords(main.us, idleUs);
  if (main.token === "idle:unknown") return `For ${part} of the idle time the cause is not known.`;
  return `The largest cause is ${main.name}: ${part} of the idle time.`;
}

export function gapsSentence(device: Device, windowUs: number | undefined): string {
  const whole = windowUs === undefined ? "" : ` of the ${formatDuration(windowUs)} window (${shareWords(device.idle_us, windowUs)})`;
  if (device.gap_count === 0) return `${deviceName(device)} was never idle in the window.`;
  const main = causeParts(device.idle_by_cause_us)[0];
  const because = main === undefined ? "" : ` ${mainCause(main, device.idle_us)}`;
  return `${deviceName(device)} is idle for ${formatDuration(device.idle_us)}${whole}, in ${plural(device.gap_count, "gap")}.${because}`;
}

export type StepPart = { readonly key: string; readonly label: string; readonly token: string; readonly us: number };

/** The stack of one step's bar, bottom first; sums to the step's duration. Without loader spans the wait is not known,
 * and nothing is called data wait. */
export function stepStack(step: Step, waitKnown: boolean): StepPart[] {
  const { device_busy_us: busy, idle_data_wait_us: idleWait = 0, idle_other_us: idleOther = 0 } = step;
  if (busy !== undefined) {
    const head = { key: "busy", label: "device busy", token: "kernel", us: busy };
    if (!waitKnown) return [head, { key: "idle", label: "idle", token: "idle:unknown", us: idleWait + idleOther }];
    return [
      head,
      { key: "idle_wait", label: "idle: data wait", token: "idle:data_wait", us: idleWait },
      { key: "idle_other", label: "idle: other", token: "idle:unknown", us: idleOther },
    ];
  }
  if (!waitKnown) return [{ key: "step", label: "step", token: "step", us: step.duration_us }];
  const wait = step.data_wait_us ?? 0;
  const rest = Math.max(0, step.duration_us - wait);
  return [
    { key: "rest", label: "rest of the step", token: "step", us: rest },
    { key: "wait", label: "data wait", token: "wait", us: wait },
  ];
}

export type StepBar = { readonly step: Step; readonly of: number };

/** At most `maxBars` bars; a bar that stands for several steps shows the longest, so that a stall is never hidden. */
export function stepBars(items: readonly Step[], maxBars: number): StepBar[] {
  const per = Math.ceil(items.length / Math.max(1, maxBars));
  const bars: StepBar[] = [];
  for (let i = 0; i < items.length; i += per) {
    const group = items.slice(i, i + per);
    const longest = group.reduce((a, b) => (b.duration_us > a.duration_us ? b : a));
    bars.push({ step: longest, of: group.length });
  }
  return bars;
}
