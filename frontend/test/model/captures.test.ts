import { expect, it } from "vitest";
import { entryWords, fullName, groupByRun, modeLabel, shortName } from "../../src/model/captures";
import { entry } from "../build";

it("groups captures by run in the order of the newest", () => {
  const groups = groupByRun([
    entry({ id: "b/2", run: "b" }),
    entry({ id: "a/1", run: "a" }),
    entry({ id: "b/1", run: "b" }),
  ]);
  expect(groups.map((group) => [group.run, group.captures.length])).toEqual([
    ["b", 2],
    ["a", 1],
  ]);
});

it("lists the ranks of each window by number, whichever wrote first", () => {
  const written = [2, 0, 1, 1, 2, 0].map((rank, at) => entry({ id: String(at), run: "ddp", rank }));
  expect(groupByRun(written)[0]?.captures.map(({ id }) => id)).toEqual(["1", "2", "0", "5", "3", "4"]);
  const plain = [entry({ id: "a", rank: 1 }), entry({ id: "b" }), entry({ id: "c", rank: 0 })];
  expect(
    groupByRun(plain)[0]?.captures.map(({ id }) => id),
    "others keep their place",
  ).toEqual(["a", "b", "c"]);
});

it("names a capture with its run, and says what it is", () => {
  expect([fullName(entry({})), fullName(entry({ run: "." }))]).toEqual(["exp1 / c", "c"]);
  expect([modeLabel("unannotated"), modeLabel(null), modeLabel("odd")]).toEqual(["plain capture", "", "odd"]);
  expect(entryWords(entry({ state: "loading" }))).toBe("loading");
  expect(entryWords(entry({ mode: null }))).toBe("ready");
  expect(entryWords(entry({ rank: 0 }))).toBe("train, rank 0");
  expect(entryWords(entry({ rank: 0, isCutOff: true }))).toBe("train, rank 0, cut off");
});

it("shortens a capture's name to its process, and keeps the end of others in sight", () => {
  expect(shortName({ name: "vm_9907.1795322405832644998", modified: 1 })).toEqual({
    start: "",
    end: "vm_9907",
    unixMs: 1795322405832.645,
    isStamped: true,
  });
  expect(shortName({ name: "vm_9907.1795322405832", modified: 1 })).toMatchObject({
    end: "vm_9907",
    unixMs: 1795322405832,
    isStamped: true,
  });
  expect(shortName({ name: "resnet50_batch256_workers8", modified: 2 })).toEqual({
    start: "resnet50_batch",
    end: "256_workers8",
    unixMs: 2000,
    isStamped: false,
  });
  // A page may not know when its files were changed.
  expect(shortName({ name: "c", modified: 0 }).unixMs).toBeNull();
});
