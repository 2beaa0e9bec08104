import { expect, it } from "vitest";
import type { Capture } from "../../src/contract/report";
import { flameOf, flameParts, spanUsOf } from "../../src/model/flame-parts";

/** A tree of the rows, each under the one before it. */
function captureWith(names: string[]): Capture {
  const column = names.map(() => 10);
  const tree = {
    names: [...names, ""],
    label: names.map((_, row) => row),
    place: names.map(() => names.length),
    file: names.map(() => names.length),
    source: names.map(() => names.length),
    origin: names.map(() => "stage"),
    depth: names.map((_, row) => row),
    total_us: column,
    self_us: column,
    waited_us: column,
    idle_us: column,
    samples: column,
  };
  return {
    devices: [],
    stages: [{ kind: "sample", label: "Clicks", total_us: 30, self_us: 30 }],
    lines: { pipeline: { samples: 10, time_us: 10, tree }, training: [], stages: [] },
  } as unknown as Capture;
}

it.each([
  [["sample::Clicks"], 30],
  [["for another DataLoader", "sample::Clicks"], undefined],
])("sets a stage against its spans, unless these are of two DataLoaders: %j", (names, expected) => {
  const [part] = flameParts(captureWith(names));
  if (part === undefined) throw new Error("no part");
  const frame = flameOf(part, "all")?.at(-1);
  expect(frame?.name).toBe("sample::Clicks");
  expect(frame && spanUsOf(part, frame)).toBe(expected);
});
