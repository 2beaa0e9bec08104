import { expect, it } from "vitest";
import { decodeWhatIf } from "../../src/data/what-if";
import {
  askedIn,
  callsOthers,
  changesIn,
  NOTHING_ASKED,
  nameOfChange,
  problemOf,
  stagesToChange,
  withChange,
  writtenChange,
  writtenChanges,
} from "../../src/model/what-if";
import { stage } from "../build";

it("offers first the stages that the data wait is of, and says which ones change by their own code alone", () => {
  const names = stagesToChange([
    stage(["wait::DataLoader"], { blame_us: 9 }),
    stage(["sample::Pets"], { blame_us: 1, self_us: 9 }),
    stage(["sample::Pets", "transform::Flip"], { self_us: 2 }),
    stage(["sample::Pets", "decode::JPEG"], { blame_us: 3 }),
    stage(["sample::Pets", "transform::Flip", "transform::Crop"], { self_us: 4 }),
    stage(["sample::Pets", "transform::Mix", "decode::JPEG"], { blame_us: 2 }),
  ]);
  expect(names).toEqual(["decode::JPEG", "sample::Pets", "transform::Crop", "transform::Flip"]);
  expect(names.filter(callsOthers)).toEqual(["sample::Pets"]);
});

it("writes a change as the route takes it, and reads it back from a link", () => {
  const asked = { ...NOTHING_ASKED, workers: "4", order: "off", stage: "transform::A=B", factor: "0.25" } as const;
  const text = writtenChange(asked);
  expect(new URLSearchParams(text).get("stage")).toBe("transform::A=B=0.25x");
  expect(askedIn(text)).toEqual(asked);
  expect(writtenChange(NOTHING_ASKED)).toBe("");
  expect(askedIn("in_order=maybe&stage=x&move=y&pin=off")).toEqual(NOTHING_ASKED);
});

it("writes batches, pinned memory and a stage on the device, and reads them back", () => {
  const asked = { ...NOTHING_ASKED, batch: "64", pinned: true, stage: "transform::A", moved: true };
  const text = writtenChange(asked);
  expect(Object.fromEntries(new URLSearchParams(text))).toEqual({
    batch: "64",
    pin: "on",
    move: "transform::A=device",
  });
  expect(askedIn(text)).toEqual(asked);
});

it("writes several changes into one text of a link, each once, and reads one of an older link", () => {
  const changes = ["workers=1%2C2", "", writtenChange({ ...NOTHING_ASKED, stage: "transform::A;B" })];
  expect(changesIn(writtenChanges(changes))).toEqual(changes);
  expect([changesIn("usual"), changesIn("workers=4"), changesIn(null)]).toEqual([[""], ["workers=4"], []]);
  expect(writtenChanges([])).toBeNull();
  expect(withChange(["a", "b"], "b")).toEqual(["b", "a"]);
  expect(withChange(["1", "2", "3", "4", "5", "6", "7", "8"], "9")).toEqual(["9", "1", "2", "3", "4", "5", "6", "7"]);
});

it("calls a change what its row in the table is called", () => {
  const asked = { ...NOTHING_ASKED, workers: "4", prefetch: "8", batch: "2", order: "off", pinned: true } as const;
  const name = "workers=4, prefetch_factor=8, batch=2, in_order=False, pin_memory=True, transform::A=0.5x";
  expect(nameOfChange(writtenChange({ ...asked, stage: "transform::A" }))).toBe(name);
  expect(nameOfChange(writtenChange({ ...NOTHING_ASKED, stage: "decode", moved: true }))).toBe("decode=device");
  expect(nameOfChange("")).toBe("The usual changes");
});

it("says in one line what cannot be predicted", () => {
  expect(problemOf(NOTHING_ASKED)).toBeNull();
  expect(problemOf({ ...NOTHING_ASKED, workers: "65" })).toContain("0 to 64");
  for (const workers of ["", "4", "0..8", "1,2,4"]) expect(problemOf({ ...NOTHING_ASKED, workers })).toBeNull();
  for (const workers of ["abc", "8..0", "0..", "1,,2", "0..65"])
    expect(problemOf({ ...NOTHING_ASKED, workers })).toContain("0 to 64");
  expect(problemOf({ ...NOTHING_ASKED, prefetch: "0" })).toBe("The prefetch_factor: a whole number from 1 to 64.");
  expect(problemOf({ ...NOTHING_ASKED, batch: "0" })).toContain("Samples per batch");
  expect(problemOf({ ...NOTHING_ASKED, stage: "transfer", moved: true })).toContain("choose a stage");
  expect(problemOf({ ...NOTHING_ASKED, stage: "read::open", factor: "" })).toContain("factor");
});

it("reads predictions, and refuses one without a step", () => {
  const range = { value: 2, low: 1, high: 3 };
  const row = { name: "workers=4, read::open=0.5x", step_us: range, data_wait_share: range };
  const found = decodeWhatIf({ sentence: "As captured.", predictions: [row] });
  expect([found.sentence, found.limitTexts, found.predictions[0]?.name]).toEqual([
    "As captured.",
    [],
    "workers=4, read::open=0.5x",
  ]);
  expect(found.predictions[0]?.step).toEqual({
    us: range,
    waitShare: range,
    savedShare: null,
    samplesPerS: null,
    idleShare: null,
  });
  const least = { name: "workers=4 *", at_least_us: 3 };
  expect(decodeWhatIf({ predictions: [least] }).predictions[0]?.step).toEqual({ atLeastUs: 3 });
  expect(() => decodeWhatIf({ predictions: [{ change: {} }] })).toThrow("without a step");
});
