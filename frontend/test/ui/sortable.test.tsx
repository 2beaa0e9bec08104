// Every column of every table can be sorted by: pictures alone have a head that does not.

import { expect, it } from "vitest";
import { CaptureRows } from "../../src/contract/report";
import { captureRows, stagesFlat, type View } from "../../src/state/atoms";
import { wordsOf } from "../../src/ui/table-reader";
import { batch, device, gap, stage, worker } from "../build";
import { all, click, open } from "../page";

const SOURCES = import.meta.glob("../../src/**/*.tsx", { query: "?raw", import: "default", eager: true });
const HEAD = /<th\s+scope="col"(?! class="bar-head")[^>]*>\s*(.*)/g;
/** Where heads that sort are made, and those of columns that only copies have. */
const MAKERS = ["/ui/sort-header.tsx", "/ui/cells.tsx"];

it("has no head of words that does not sort", () => {
  const others = Object.entries(SOURCES).filter(([path]) => !MAKERS.some((maker) => path.endsWith(maker)));
  const heads = others.flatMap(([path, text]) => [...text.matchAll(HEAD)].map(([, words = ""]) => `${path}: ${words}`));
  expect(heads.length).toBeGreaterThan(3);
  expect(heads.filter((head) => !head.includes('<span class="offscreen">'))).toEqual([]);
});

const NUMBERS = [1, 3, 2];
const KNOWN = {
  devices: [
    device({
      idle_us: 90,
      gaps: NUMBERS.map((n) => gap({ start_us: n, duration_us: 10 * n, step: n, cause: "host" })),
    }),
  ],
  stages: NUMBERS.map((n) =>
    stage([`read::s${n}`], {
      count: n,
      blame_us: 4 - n,
      self_us: 9,
      cpu_self_us: n,
      limited_by: ["cpu", "", "blocked"][n - 1],
    }),
  ),
  batches: NUMBERS.map((n) => batch({ number: n, epoch: 4 - n, worker: n % 3, wait_us: n, started_us: n })),
  workers: NUMBERS.map((n) => worker({ worker: n, pid: 10 - n })),
  worker_summaries: [{ loader: 0, workers: 3, processes: 3 }],
  loader: { wait_us: 6, num_workers: 3, wait_by_stage_us: { "read::s1": 3, "read::s2": 1, "read::s3": 2 } },
  throughput: { samples_per_s: 5, read_per_s: 9, prepare_per_s: 7 },
};

const column = (table: HTMLTableElement, at: number): string[] =>
  [...table.querySelectorAll<HTMLTableRowElement>("tbody tr")].map((row) => wordsOf(row.cells[at]));

it.each<[View, string[]]>([
  ["overview", ["wait-by-stage", "rates"]],
  ["stages", ["stage-table"]],
  ["workers", ["batch-table", "workers"]],
  ["gaps", ["gap-table"]],
  ["captures", ["row-table"]],
])("turns the order of any column by its head: %s", (view, tables) => {
  stagesFlat.value = true;
  const rows = NUMBERS.map((n) => ({ id: `ddp/vm_${n}`, run: "ddp", name: `vm_${n}`, state: "ready", rank: 4 - n }));
  captureRows.value = CaptureRows.fromJSON({ rows });
  open(KNOWN, view);
  for (const table of tables.map((name) => all(name)[0] as HTMLTableElement)) {
    for (const [at, head] of [...table.querySelectorAll("thead th")].entries()) {
      if (head.querySelector(".offscreen") !== null || head.hasAttribute("hidden")) continue;
      const press = (): string[] => {
        click(table.querySelectorAll("thead th")[at]?.querySelector("button"));
        return column(table, at);
      };
      const first = press();
      expect(press(), head.textContent ?? "").toEqual(first.toReversed());
    }
  }
  stagesFlat.value = false;
});
