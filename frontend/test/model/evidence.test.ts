import { expect, it } from "vitest";
import {
  bytesPerCall,
  chooseByteUnit,
  costFacts,
  costParts,
  inByteUnit,
  limitWords,
  loadRows,
  selfParts,
  selfWords,
} from "../../src/model/evidence";
import { stage } from "../build";

const load = (counter: string, series: string, mean: number) => ({
  counter,
  series,
  samples: 2,
  mean,
  low: mean - 1,
  high: mean + 1,
});
const costs = { batches: 4, wall_us: 1000 };

it("divides the self time into running, without a core, and blocked", () => {
  const one = stage(["read::open"], { self_us: 100, cpu_self_us: 60, starved_us: 30 });
  expect(selfParts(one)).toEqual({ runningUs: 60, starvedUs: 30, blockedUs: 10 });
  expect(selfWords(one).replaceAll("\u00a0", " ")).toBe(
    "Of its self time 60.0 % running on a core, 30.0 % without a core (an estimate), 10.0 % blocked: storage, locks, other processes.",
  );
});

it("does not call time blocked where it may as well have lacked a core", () => {
  expect(selfWords(stage(["read::open"], { self_us: 100, cpu_self_us: 60 })).replaceAll("\u00a0", " ")).toBe(
    "Of its self time 60.0 % running on a core, 40.0 % not running.",
  );
  expect(selfParts(stage(["read::open"], {}))).toBeUndefined();
  expect(limitWords("cpu")).toBe("CPU-bound");
});

it("has no negative part where the CPU clock ran ahead of the wall clock", () => {
  expect(selfParts(stage(["a::b"], { self_us: 100, cpu_self_us: 101 }))?.blockedUs).toBe(0);
});

it("gives sizes per call, one unit for the column", () => {
  expect(bytesPerCall(stage(["a::b"], { bytes: 900, count: 3 }))).toBe(300);
  expect(bytesPerCall(stage(["a::b"], { count: 3 }))).toBeUndefined();
  expect(chooseByteUnit([undefined, 12_000, 9]).name).toBe("kB");
  expect(chooseByteUnit([]).name).toBe("B");
  expect(inByteUnit(1_234_567, chooseByteUnit([5e7]))).toBe("1.23");
});

it("divides the time to make batches, as far as the system told", () => {
  const parts = costParts({ ...costs, cpu_share: 0.7, run_delay_share: 0.2 });
  expect(parts.map((part) => [part.name, Math.round(part.us)])).toEqual([
    ["running on a core", 700],
    ["ready, without a core", 200],
    ["blocked", 100],
  ]);
  expect(costParts({ ...costs, cpu_share: 0.7 }).map((part) => part.name)).toEqual([
    "running on a core",
    "not running",
  ]);
  expect(costParts(costs)).toEqual([]);
});

it("lists only the costs that are known, amounts per batch, exact values beside", () => {
  const facts = costFacts({ ...costs, read_bytes: 4000, voluntary_switches: 6 });
  expect(facts.map(({ key, value }) => [key, value])).toEqual([
    ["wall_us", 1000],
    ["read_bytes", 4000],
    ["voluntary_switches", 6],
  ]);
  expect(facts.map((fact) => fact.text.replaceAll("\u00a0", " "))).toEqual([
    "250 µs",
    "1.00 kB per batch",
    "1.5 per batch",
  ]);
});

it("puts the cores on one line, with the least and the most loaded", () => {
  const rows = loadRows([
    load("device::utilisation", "gpu", 50),
    load("host::cpu", "core 0", 90),
    load("host::cpu", "core 1", 70),
  ]);
  expect(rows.map(({ name, mean, low, high }) => [name, mean, low, high])).toEqual([
    ["CPU, mean of 2 cores", 80, 69, 91],
    ["Device utilisation", 50, 49, 51],
  ]);
});

it("tells several series of a counter apart, and shows counters that it does not know", () => {
  const rows = loadRows([
    load("host::reads", "rchar_per_s", 5),
    load("host::reads", "read_bytes_per_s", 2),
    load("my::own", "x", 1),
  ]);
  expect(rows.map(({ name, unit }) => [name, unit])).toEqual([
    ["Reads of this job: all", "bytes/s"],
    ["Reads of this job: from storage", "bytes/s"],
    ["my::own", ""],
  ]);
});
