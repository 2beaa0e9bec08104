import { expect, it } from "vitest";
import { absenceOf, aloneText, runAround, sidesOf } from "../../src/model/sides";
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
    entry({ id: "1", run: "ddp", name: "vm_7.1795635834987858873", rank: 0, taken: 1795635834.98, takenBy: "name" }),
    entry({ id: "2", run: "ddp", name: "vm_7.1795635904987858873", rank: 1, taken: 1795635904.98, takenBy: "name" }),
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

it("offers folders of repeated runs, newest first with the other runs", () => {
  const repeatedCaptures = [
    entry({ id: "after/r1/x", run: "after/r1" }),
    entry({ id: "new/b", run: "new" }),
    entry({ id: "new/a", run: "new" }),
    entry({ id: "after/r2/x", run: "after/r2" }),
    entry({ id: "after/r2/y", run: "after/r2", rank: 1 }),
  ];
  const ids = ["after/r1/x", "after/r2/x", "after/r2/y"];
  const sides = sidesOf(repeatedCaptures, [
    { folder: "after", ids },
    { folder: "gone", ids: ["gone/r1/x", "gone/r2/x"] },
  ]);
  expect(sides.slice(0, 4).map(({ key, label }) => [key, label])).toEqual([
    ["run:after", "after: all 3 captures"],
    ["run:new", "new: all 2 captures"],
    ["run:after/r2", "after/r2: all 2 captures"],
    ["capture:after/r1/x", expect.stringContaining("after/r1 / ")],
  ]);
  const around = (id: string) => runAround(sides, { key: "", label: "", ids: [id] })?.key;
  expect([around("after/r1/x"), around("after/r2/x")]).toEqual(["run:after", "run:after/r2"]);
});

it("says why a folder is no side", () => {
  const found = [entry({ id: "v/a/x", run: "v/a" }), entry({ id: "v/b/x", run: "v/b" })];
  expect(absenceOf("run:v", found, "in the log directory")).toContain("v does not hold repeated runs of one program");
  expect(absenceOf("run:w", found, "in the log directory")).toBe("w is not in the log directory");
});

it("offers no run whose captures are not of one program as one side, and says so of a link to it", () => {
  const keys = (mixed: readonly string[]) => sidesOf(captures, [], mixed).map(({ key }) => key);
  expect(keys(["new"])).toEqual(keys([]).slice(1));
  const reason = absenceOf("run:new", captures, "in the log directory", ["new"]);
  expect(reason).toBe("new holds captures that are not known to be of one program");
});
