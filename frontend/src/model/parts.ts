// Parts of the Overview that are not numbers: stages as parts of a whole, devices by name, evidence that is news.

import type { Device, Evidence, Verdict } from "../contract/report";
import type { Part } from "./causes";
import { stageLabel } from "./words";

/** Theme token of a part of the data wait: a stage's kind, or a name of NO_STAGES. */
export function stageToken(name: string): string {
  return name.split("::")[0] ?? name;
}

export function stageParts(byStage: Readonly<Record<string, number>>): Part[] {
  // Beside its parts, "transfer" is only what is left of it.
  const hasParts = Object.keys(byStage).some((name) => name.startsWith("transfer::"));
  return Object.entries(byStage)
    .map(([name, us]) => ({
      name: hasParts && name === "transfer" ? "transfer, the rest" : stageLabel(name),
      us,
      token: stageToken(name),
    }))
    .filter((part) => part.us > 0)
    .sort((a, b) => b.us - a.us);
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
