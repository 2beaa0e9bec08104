import { describe, expect, it } from "vitest";
import { buildTree, flatRows, nestedRows, partsOf, stageKey } from "../../src/model/stage-tree";
import { stage } from "../build";

const stages = [
  stage(["sample::D"], { total_us: 100, self_us: 10, count: 4 }),
  stage(["sample::D", "transform::A"], { total_us: 30, self_us: 30, count: 4, blame_us: 5 }),
  stage(["sample::D", "transform::B"], { total_us: 60, self_us: 20, count: 2 }),
  stage(["sample::D", "transform::B", "decode::PIL"], { total_us: 40, self_us: 40, count: 9, blame_us: 50 }),
  stage(["collate::c"], { total_us: 200, self_us: 200, count: 1 }),
];
const none: ReadonlySet<string> = new Set();
const names = (rows: ReturnType<typeof nestedRows>): string[] => rows.map((row) => `${row.depth} ${row.stage.label}`);

describe("nested rows", () => {
  it("sort siblings, and children stay under their parent", () => {
    const rows = nestedRows(buildTree(stages), { column: "total_us", descending: true }, none);
    expect(names(rows)).toEqual(["0 c", "0 D", "1 B", "2 PIL", "1 A"]);
  });
  it("put a branch where its largest stage would stand", () => {
    const wait = stage(["wait::DataLoader"], { self_us: 25 });
    const rows = nestedRows(buildTree([wait, ...stages]), { column: "self_us", descending: true }, none);
    expect(names(rows)).toEqual(["0 c", "0 D", "1 B", "2 PIL", "1 A", "0 DataLoader"]);
  });
  it("put it there in ascending order, too: a small stage inside moves no large one up", () => {
    const wait = stage(["wait::DataLoader"], { total_us: 516 });
    const inside = stage(["wait::DataLoader", "sampler::S"], { total_us: 0.2 });
    const collate = stage(["collate::C"], { total_us: 106 });
    const rows = nestedRows(buildTree([wait, inside, collate]), { column: "total_us", descending: false }, none);
    expect(names(rows)).toEqual(["0 C", "0 DataLoader", "1 S"]);
  });
  it("turn round", () => {
    const rows = nestedRows(buildTree(stages), { column: "total_us", descending: false }, none);
    expect(names(rows)).toEqual(["0 D", "1 A", "1 B", "2 PIL", "0 c"]);
  });
  it("leave out what is folded, and say so", () => {
    const rows = nestedRows(buildTree(stages), { column: "total_us", descending: true }, new Set(["sample::D"]));
    expect(names(rows)).toEqual(["0 c", "0 D"]);
    expect(rows[1]?.folded).toBe(true);
  });
  it("keep a stage whose parent is not listed", () => {
    const rows = nestedRows(
      buildTree([stage(["sample::gone", "read::open"], {})]),
      { column: "count", descending: true },
      none,
    );
    expect(names(rows)).toEqual(["0 open"]);
  });
});

it("puts unknown blame last in both directions", () => {
  for (const descending of [true, false]) {
    const rows = flatRows(stages, { column: "blame_us", descending });
    expect(rows.slice(2).every((row) => row.stage.blame_us === undefined)).toBe(true);
  }
  expect(flatRows(stages, { column: "blame_us", descending: true })[0]?.stage.label).toBe("PIL");
});

it("does not change the list it is given", () => {
  const before = [...stages];
  flatRows(stages, { column: "count", descending: true });
  expect(stages).toEqual(before);
});

it("names a stage by its whole path", () => {
  expect(stageKey(stage(["sample::D", "read::open"], {}))).toBe("sample::D > read::open");
});

it("a name of a user's own keeps all that stands behind its kind", () => {
  expect(partsOf("user::io::parse")).toEqual({ kind: "user", label: "io::parse" });
  expect(partsOf("transfer")).toEqual({ kind: "transfer", label: "transfer" });
});
