import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { RanksList } from "../../src/contract/report";
import { ranksList, runs } from "../../src/state/atoms";
import { entry, runsOf } from "../build";
import { all, find, open, plain } from "../page";

const sentence = "Rank 1 holds up the others.";

/** The capture in view is exp/r1/c. */
function list(rankRun: string | null): void {
  act(() => {
    runs.value = runsOf({
      captures: [1, 0].map((rank) => entry({ id: rank ? "exp1/c" : "other", run: `exp/r${rank}`, rank, rankRun })),
      rankRuns: 1,
    });
  });
}

beforeEach(() => {
  const rows = [0, 1].map((rank) => ({ rank, capture: `exp/r${rank}/c` }));
  ranksList.value = RanksList.fromJSON({ ranks: [{ run: "exp", folders: ["exp/r0", "exp/r1"], sentence, rows }] });
});

afterEach(() => {
  ranksList.value = null;
});

it("shows ranks that have a folder each as one run, whichever of them is in view", () => {
  open({ rank: 1, world_size: 2 }, "ranks");
  list("exp");
  expect(all("of-another-run")).toEqual([]);
  expect(find("ranks-sentence").textContent).toContain(sentence);
});

it("says on the page of such a rank who holds up whom", () => {
  open({ rank: 1, world_size: 2 }, "overview");
  list("exp");
  expect(all("rank-alone")).toEqual([]);
  expect(find("ranks-line").textContent).toContain(sentence);
});

it("takes folders side by side for nothing by themselves", () => {
  open({ rank: 1, world_size: 2 }, "overview");
  list(null);
  expect(all("ranks-line")).toEqual([]);
  expect(find("rank-alone").textContent).toContain("nor known to be in one beside it");
});

it("leads from a capture to the ranks only where it is, or may be, among them", () => {
  ranksList.value = null;
  open({ rank: 1, world_size: 2 }, "overview");
  list("exp");
  expect(plain(find("ranks-line").textContent)).toBe("Which rank holds up the others");
  const other = { rank: 0, capture: "exp/r0/c" };
  for (const rows of [[other], [other, { rank: 1, capture: "exp/r1/newer" }]]) {
    act(() => {
      ranksList.value = RanksList.fromJSON({ ranks: [{ run: "exp", sentence, rows }] });
    });
    expect([all("ranks-line"), all("rank-alone")], "it is left out: Ranks has nothing of it").toEqual([[], []]);
  }
});
