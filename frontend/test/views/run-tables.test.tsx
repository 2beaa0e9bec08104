import { expect, it } from "vitest";
import { WholeRuns } from "../../src/contract/report";
import { asCsv } from "../../src/model/table-text";
import { meaningOfTerm } from "../../src/model/terms";
import { wholeRuns } from "../../src/state/atoms";
import { readTable } from "../../src/ui/table-reader";
import { all, find, open } from "../page";

function openRun(): void {
  wholeRuns.value = WholeRuns.fromJSON({
    runs: [
      {
        run: "exp1",
        steps: 10,
        epochs: 3,
        outside: { share: 0.1, outside_us: 4e6, text: "10.0% of the run" },
        marks: [
          { at_s: 12, change: "stall", what: "data wait" },
          { at_s: 22, change: "slow", what: "step time" },
        ],
        slow_samples: [
          { index: 12345, took_us: 1e6, times: 2, epoch: 2, batch: 3, files: ["a/b.png"] },
          { index: 7, took_us: 5e5, times: 1, epoch: 1, batch: 0, worker: 1, files: ["a/c.png", "d.png"] },
        ],
      },
    ],
  });
  open({}, "run");
}

it("gives the slowest samples to other programs in columns", () => {
  openRun();
  expect(asCsv(readTable(find("run-slow-samples") as HTMLTableElement)).split("\r\n")).toEqual([
    "Index,Took (µs),Epoch,Batch,DataLoader worker,Intervals,Files",
    "12345,1000000,2,3,,2,a/b.png",
    "7,500000,1,0,1,1,a/c.png; d.png",
    "",
  ]);
});

it("explains its terms where they stand", () => {
  openRun();
  const explained = all("run-mark").map((row) => row.querySelector("th .explained")?.getAttribute("title"));
  expect(explained).toEqual([meaningOfTerm("stall"), meaningOfTerm("slow")]);
  expect(explained).not.toContain(undefined);
  const outside = find("run-outside").closest(".number")?.querySelector(".explained");
  expect(outside?.getAttribute("title")).toContain("checkpoints");
});
