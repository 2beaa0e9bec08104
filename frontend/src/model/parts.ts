// Parts of the Overview that are not numbers: stages as parts of a whole, devices by name, evidence that is news.

import type { Capture, Device, Evidence, Verdict } from "../contract/report";
import type { Part } from "./causes";
import { stageName } from "./stage-tree";
import { noStageMeaning, stageLabel } from "./words";

/** Theme token of a part of the data wait: a stage's kind, or a name of NO_STAGES. */
export function stageToken(name: string): string {
  return name.split("::")[0] ?? name;
}

/** By time; what is no stage has a meaning. */
export function stageParts(byStage: Readonly<Record<string, number>>): Part[] {
  // Beside its parts, "transfer" is only what is left of it.
  const hasParts = Object.keys(byStage).some((name) => name.startsWith("transfer::"));
  return Object.entries(byStage)
    .map(([name, us]) => ({
      name: hasParts && name === "transfer" ? "the rest of transfer" : stageLabel(name),
      us,
      token: stageToken(name),
      meaning: noStageMeaning(name),
    }))
    .filter((part) => part.us > 0)
    .sort((a, b) => b.us - a.us);
}

/** The parts of the data wait that have no row among the stages. */
export function partsWithoutRow({ loader, stages }: Capture): Part[] {
  const rows = new Set(stages.map(stageName));
  return stageParts(loader?.wait_by_stage_us ?? {}).filter(({ name }) => !rows.has(name));
}

/** What the Overview shows already: the bar of causes, and the line that relates the numbers of data wait. */
const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set(["idle_by_cause", "data_wait"]);

/** The evidence that neither the sentence nor the rest of the Overview shows. */
export function newEvidence(verdict: Verdict | undefined): Evidence[] {
  return (verdict?.evidence ?? []).filter((item) => !item.in_sentence && !SHOWN_ELSEWHERE.has(item.kind));
}

export function deviceName({ id, name }: Device): string {
  return name === "" ? `Device ${id}` : `Device ${id} (${name})`;
}
