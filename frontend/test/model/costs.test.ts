import { expect, it } from "vitest";
import { bytesPerCall, costFacts, costParts, limitOf, selfParts } from "../../src/model/costs";
import { costs, stage } from "../build";

const shown = (parts: ReturnType<typeof selfParts>) => parts.map(({ name, us }) => [name, Math.round(us)]);

it("divides the self time into running, waiting for a CPU, and blocked", () => {
  const one = stage(["read::open"], { self_us: 100, cpu_self_us: 60, run_delay_us: 30, blocked_us: 10 });
  expect(shown(selfParts(one))).toEqual([
    ["running on a CPU", 60],
    ["waiting for a CPU", 30],
    ["blocked", 10],
  ]);
});

it("does not call time blocked where it may as well have waited for a CPU", () => {
  const one = stage(["read::open"], { self_us: 100, cpu_self_us: 60, blocked_us: 40 });
  expect(shown(selfParts(one))).toEqual([
    ["running on a CPU", 60],
    ["not running", 40],
  ]);
  expect(selfParts(stage(["read::open"], {}))).toEqual([]);
});

it("calls mixed only what is known to be, and not what one of two causes may have", () => {
  const long = { self_us: 1000, count: 1, limited_by: "" };
  const known = { run_delay_us: 300, blocked_us: 400 };
  expect(limitOf(stage(["read::open"], { ...long, cpu_self_us: 300, ...known }))).toBe("mixed");
  expect(limitOf(stage(["read::open"], { ...long, cpu_self_us: 8 }))).toBe("not known");
  expect(limitOf(stage(["read::open"], { ...long, cpu_self_us: 400 }))).toBe("mixed");
  expect(limitOf(stage(["read::open"], { ...long, cpu_self_us: 8, count: 100 }))).toBe("too short to tell");
});

it("gives sizes per call", () => {
  expect(bytesPerCall(stage(["a::b"], { bytes: 900, count: 3 }))).toBe(300);
  expect(bytesPerCall(stage(["a::b"], { count: 3 }))).toBeUndefined();
});

it("divides the build time, as far as the system told", () => {
  expect(shown(costParts(costs({ cpu_share: 0.7, run_delay_share: 0.2, blocked_share: 0.1 })))).toEqual([
    ["running on a CPU", 700],
    ["waiting for a CPU", 200],
    ["blocked", 100],
  ]);
  expect(shown(costParts(costs({ cpu_share: 0.7 })))).toEqual([
    ["running on a CPU", 700],
    ["not running", 300],
  ]);
  expect(costParts(costs({}))).toEqual([]);
});

it("lists only the costs that are known, amounts per batch, exact values beside", () => {
  const facts = costFacts(costs({ read_bytes: 4000, voluntary_switches: 6 }));
  expect(facts.map(({ key, value, text }) => [key, value, text.replaceAll("\u00a0", " ")])).toEqual([
    ["build_us", 250, "250 µs"],
    ["read_bytes", 4000, "1.00 kB per batch"],
    ["voluntary_switches", 6, "1.5 per batch"],
  ]);
});
