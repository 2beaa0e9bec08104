import { expect, it } from "vitest";
import { RunPoint } from "../../src/contract/report";
import { clockTicks, lineNames, panelsOf } from "../../src/model/whole-run";

const point = RunPoint.fromJSON({
  to_s: 10,
  data_wait_share: 0.1,
  rss_bytes: 1e9,
  workers_rss_bytes: 2e9,
  shm_bytes: 1,
});
const [wait, memory] = panelsOf([point]);

it("names the lines of a panel, unless its title does", () => {
  expect(wait && lineNames(wait, 900)).toEqual([]);
  const names = memory === undefined ? [] : lineNames(memory, 900);
  expect(names.map(({ line, row }) => [line.label, row])).toEqual([
    ["training process", 0],
    ["DataLoader workers", 0],
    ["/dev/shm", 0],
  ]);
});

it("goes on in the next row where names have no room, none of them beyond it", () => {
  const names = memory === undefined ? [] : lineNames(memory, 310);
  expect(names.map(({ row }) => row)).toEqual([0, 1, 1]);
  expect(names[1]?.keyPx).toBe(0);
});

it("counts time as a clock does, whatever the run's length", () => {
  expect(clockTicks(14, 6)).toEqual([0, 5, 10]);
  expect(clockTicks(0.4, 6)).toEqual([0]);
  expect(clockTicks(7300, 4)).toEqual([0, 3600, 7200]);
  expect(clockTicks(40 * 86_400, 6).map((seconds) => seconds / 86_400)).toEqual([0, 7, 14, 21, 28, 35]);
});
