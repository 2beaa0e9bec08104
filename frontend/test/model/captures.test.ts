import { expect, it } from "vitest";
import {
  asBefore,
  type CaptureEntry,
  entryWords,
  fullName,
  groupByRun,
  modeLabel,
  shortName,
  whenOf,
} from "../../src/model/captures";
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
  const written = [2, 0, 1, 1, 2, 0].map((rank, at) => entry({ id: String(at), run: "ddp", rank, rankRun: "ddp" }));
  expect(groupByRun(written)[0]?.captures.map(({ id }) => id)).toEqual(["1", "2", "0", "5", "3", "4"]);
  const plain = [
    entry({ id: "a", rank: 1, rankRun: "ddp" }),
    entry({ id: "b" }),
    entry({ id: "c", rank: 0, rankRun: "ddp" }),
  ];
  expect(
    groupByRun(plain)[0]?.captures.map(({ id }) => id),
    "others keep their place",
  ).toEqual(["a", "b", "c"]);
});

it("lists ranks of other times, or of no run that is known, the newest first", () => {
  const of = (id: string, rank: number, taken: number, rankRun: string | null = "exp1") =>
    entry({ id, rank, taken, rankRun });
  const ids = (...captures: CaptureEntry[]) => groupByRun(captures)[0]?.captures.map(({ id }) => id);
  expect(ids(of("2024", 34, 1_721_000_000), of("2023", 0, 1_695_000_000))).toEqual(["2024", "2023"]);
  expect(ids(of("new", 1, 1_721_000_009), of("old", 0, 1_721_000_008))).toEqual(["old", "new"]);
  expect(ids(of("new", 1, 1_721_000_009, null), of("old", 0, 1_721_000_008, null))).toEqual(["new", "old"]);
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
  expect(shortName("vm_9907.1795322405832644998")).toEqual({ start: "", end: "vm_9907", isStamped: true });
  expect(shortName("vm_9907.1795322405832")).toMatchObject({ end: "vm_9907", isStamped: true });
  expect(shortName("resnet50_batch256_workers8")).toEqual({
    start: "resnet50_batch",
    end: "256_workers8",
    isStamped: false,
  });
});

it("says what a time is from: a file's is its last change, to minutes", () => {
  const at = Date.UTC(2021, 5, 8, 12, 30, 15) / 1000;
  const [trace, file] = ["trace", "file"].map((takenBy) => whenOf({ taken: at, takenBy }));
  expect(trace?.unixMs).toBe(at * 1000);
  expect(trace?.words, "another year is said").toMatch(/2021.*:30:15/);
  expect(trace?.title).toContain("the trace's clock");
  expect(file?.words).toMatch(/^file of .*2021.*:30(?!:)/);
  expect(file?.title).toContain("When its file was changed");
  expect(whenOf({ taken: 0, takenBy: "" }), "a page may not know").toBeNull();
});

it("keeps places as they were, what is new at the end", () => {
  const given = ["new", "b", "a"].map((id) => entry({ id }));
  expect(asBefore(given, ["a", "b", "gone"]).map(({ id }) => id)).toEqual(["a", "b", "new"]);
});
