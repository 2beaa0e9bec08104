import { expect, it } from "vitest";
import { asCsv, asMarkdown } from "../../src/model/table-text";

const table = {
  heads: ["Stage", "Busy, ms", "of window", "Device idle, % of window"],
  rows: [
    [
      { text: "read::a,b" },
      { text: "1.23", exactUs: 1234.567 },
      { text: "44.0%", exact: 0.43999 },
      { text: "44.0", exact: 0.4399 },
    ],
    [{ text: "=cmd|x" }, { text: "–" }, { text: "–" }, { text: "–" }],
  ],
};

it("writes CSV with exact values, microseconds for times, and nothing for what is unknown", () => {
  expect(asCsv(table).split("\r\n")).toEqual([
    "Stage,Busy (µs),Of window (%),Device idle (% of window)",
    '"read::a,b",1234.567,43.999,43.99',
    "'=cmd|x,,,",
    "",
  ]);
});

it("keeps the unit of shares of which one is too small to be written", () => {
  const rows = [[{ text: "38.9%", exact: 0.389 }], [{ text: "<0.01%", exact: 0.00002 }]];
  expect(asCsv({ heads: ["of data wait"], rows })).toBe("Of data wait (%)\r\n38.9\r\n0.002\r\n");
});

it("writes sizes in bytes, and says so in the head", () => {
  const sizes = { heads: ["Stage", "Size, kB"], rows: [[{ text: "a" }, { text: "197", exactBytes: 196_608 }]] };
  expect(asCsv(sizes)).toBe("Stage,Size (B)\r\na,196608\r\n");
});

it("writes numbers alone, their unit in the head, and an interval as two columns with its exact ends", () => {
  const ends = { low: -0.9612, high: -0.27, unit: "%" as const };
  const rows = [
    [
      { text: "−83%", exact: -0.8269 },
      { text: "−96% to −27%", ends },
      { text: "17.4x", exact: 17.43 },
      { text: "1,069%" },
    ],
    [{ text: "+5%", exact: 0.05 }, { text: "none after" }, { text: "–" }, { text: "" }],
  ];
  expect(asCsv({ heads: ["Change", "95% interval", "To others", "Share"], rows }).split("\r\n")).toEqual([
    "Change (%),95% interval from (%),95% interval to (%),To others (x),Share (%)",
    "-82.69,-96.12,-27,17.43,1069",
    "5,,,,",
    "",
  ]);
});

it("writes times of an interval in microseconds, and leaves an end out that is not known", () => {
  const rows = [
    [{ text: "1.5 to 2", ends: { low: 1500, high: 2000.5, unit: "µs" as const } }],
    [{ text: "at least 1", ends: { low: 1000, unit: "µs" as const } }],
  ];
  const csv = asCsv({ heads: ["90% interval, ms"], rows });
  expect(csv).toBe("90% interval from (µs),90% interval to (µs)\r\n1500,2000.5\r\n1000,\r\n");
});

it("writes Markdown as it stands on screen", () => {
  expect(asMarkdown(table).split("\n")).toEqual([
    "| Stage | Busy, ms | of window | Device idle, % of window |",
    "| --- | ---: | ---: | ---: |",
    "| read::a,b | 1.23 | 44.0% | 44.0 |",
    "| =cmd\\|x | – | – | – |",
    "",
  ]);
});

it("gives rows with units of their own a column for them, and percent as percent", () => {
  const rows = [
    [{ text: "CPU" }, { text: "99.5%", exact: 99.5, unit: "%" }],
    [{ text: "Memory" }, { text: "1.00 GB", exact: 1e9, unit: "bytes" }],
  ];
  expect(asCsv({ heads: ["What", "Mean"], rows })).toBe("What,Mean,Unit\r\nCPU,99.5,%\r\nMemory,1000000000,bytes\r\n");
});

it("leaves names whole in Markdown: what is code stays code, and marks of emphasis are none", () => {
  const rows = [[{ text: "`x = a | b_` in Photos.__getitem__ at *.py:24" }]];
  expect(asMarkdown({ heads: ["Line"], rows })).toContain(
    "| `x = a \\| b_` in Photos.\\_\\_getitem\\_\\_ at \\*.py:24 |",
  );
});

it("leaves out binary noise behind the digits that a number has, and no digit of a moment since 1970", () => {
  const rows = [125970.36149999988, 1795680120123456].map((exactUs) => [{ text: "", exactUs }]);
  expect(asCsv({ heads: ["Start"], rows })).toBe("Start (µs)\r\n125970.3615\r\n1795680120123456\r\n");
});

it("writes a time of the run in microseconds, whatever the clock on screen says", () => {
  const rows = [[{ text: "0:01:12", exactUs: 72_704_000 }]];
  expect(asCsv({ heads: ["After, h:min:s"], rows })).toBe("After (µs)\r\n72704000\r\n");
});
