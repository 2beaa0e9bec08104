import { expect, it } from "vitest";
import { aloneText, sidesOf } from "../../src/model/sides";
import { entry } from "../build";

const captures = [
  entry({ id: "new/b", run: "new", name: "b", modified: 4 }),
  entry({ id: "new/a", run: "new", name: "a", modified: 3 }),
  entry({ id: "new/r", run: "new", name: "r", modified: 3, mode: "replay" }),
  entry({ id: "old/a", run: "old", name: "a", modified: 2 }),
  entry({ id: "old/x", run: "old", name: "x", modified: 1, state: "error" }),
];

it("says why there is nothing to compare, and what cannot be read", () => {
  const [good, bad] = [entry({}), entry({ state: "error" })];
  expect(aloneText([good])).toBe("a single capture");
  expect(aloneText([good, bad, bad])).toBe("a single capture that can be read (2 cannot)");
  expect(aloneText([bad])).toBe("no capture that can be read (1 cannot)");
});

it("tells the ranks and the windows of one run apart", () => {
  const labels = sidesOf([
    entry({ id: "1", run: "ddp", name: "vm_7.1795635834987858873", rank: 0 }),
    entry({ id: "2", run: "ddp", name: "vm_7.1795635904987858873", rank: 1 }),
  ]).map(({ label }) => label);
  expect(labels[1]).toMatch(/^ddp \/ vm_7, rank 0, Nov 25.*54/);
  expect(labels[2]).toMatch(/^ddp \/ vm_7, rank 1, Nov 25.*04/);
});

it("offers runs of several captures as one side, then single captures that can be read", () => {
  expect(sidesOf(captures).map((side) => [side.key, side.ids.length])).toEqual([
    ["run:new", 3],
    ["capture:new/b", 1],
    ["capture:new/a", 1],
    ["capture:new/r", 1],
    ["capture:old/a", 1],
  ]);
});
