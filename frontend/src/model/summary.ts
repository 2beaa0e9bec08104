// The sentences of the Stages and Idle gaps views and the parts of the Overview, from the report's own numbers.

import type { Capture, Device } from "../contract/report";
import { type CausePart, causeParts, type Part } from "./causes";
import { formatDuration, plural } from "./format";
import { shareWords } from "./shares";
import { isWork, stageName } from "./stage-tree";

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

export function blameWords(name: string): string {
  return BLAME_WORDS[name] ?? name;
}

export function stageParts(byStage: Readonly<Record<string, number>>): Part[] {
  return Object.entries(byStage)
    .map(([name, us]) => ({ name: blameWords(name), us, token: stageToken(name) }))
    .filter((part) => part.us > 0)
    .sort((a, b) => b.us - a.us);
}

/** What the bar of busy and idle time says already. */
const BY_CAUSE = /^idle time by cause/;

/** The evidence without what else is on screen: idle time by cause, and a first line that only says again what the
 * sentence says, the same stage with the same share. */
export function newEvidence(sentence: string, evidence: readonly string[]): string[] {
  const plain = (text: string): string => text.replaceAll("\u00a0", " ");
  const left = evidence.filter((line) => !BY_CAUSE.test(line));
  const [, name, share] = /^(\S+): .*?(\d[\d.]* %)/.exec(plain(left[0] ?? "")) ?? [];
  const repeats =
    name !== undefined &&
    share !== undefined &&
    plain(sentence).includes(name) &&
    plain(sentence).includes(` ${share}`);
  return left.slice(repeats ? 1 : 0);
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

function mainCause(main: CausePart, idleUs: number): string {
  const part = shareWords(main.us, idleUs);
  if (main.cause === "unknown") return `For ${part} of the idle time the cause is not known.`;
  return `The largest cause is ${main.name}: ${part} of the idle time.`;
}

export function gapsSentence(device: Device, windowUs: number | undefined): string {
  const whole =
    windowUs === undefined
      ? ""
      : ` of the ${formatDuration(windowUs)} window (${shareWords(device.idle_us, windowUs)})`;
  if (device.gap_count === 0) return `${deviceName(device)} was never idle in the window.`;
  const main = causeParts(device.idle_by_cause_us)[0];
  const because = main === undefined ? "" : ` ${mainCause(main, device.idle_us)}`;
  return `${deviceName(device)} is idle for ${formatDuration(device.idle_us)}${whole}, in ${plural(device.gap_count, "gap")}.${because}`;
}
