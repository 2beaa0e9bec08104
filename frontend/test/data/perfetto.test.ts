import { expect, it } from "vitest";
import { type Channel, handOver, showRange, themePerfetto, windowChannel } from "../../src/data/perfetto";

function fakeChannel() {
  const log: string[] = [];
  let onMessage: ((data: unknown) => void) | null = null;
  let tick: (() => void) | null = null;
  const channel: Channel = {
    ping: () => log.push("PING"),
    send: (trace) => log.push(`send ${trace.title}`),
    show: ({ startUs, endUs }) => log.push(`show ${startUs} ${endUs}`),
    listen: (call) => {
      onMessage = call;
      return () => (onMessage = null);
    },
    every: (_ms, call) => {
      tick = call;
      return () => (tick = null);
    },
  };
  return {
    log,
    channel,
    say: (data: unknown) => onMessage?.(data),
    tick: () => tick?.(),
    quiet: () => onMessage === null && tick === null,
  };
}

const trace = { buffer: new ArrayBuffer(1), title: "t", fileName: "t.gz" };

it("pings until the viewer answers, then sends the trace once and falls silent", () => {
  const fake = fakeChannel();
  let done = 0;
  handOver(fake.channel, trace, () => (done += 1));
  fake.tick();
  fake.say("something else");
  fake.tick();
  fake.say("PONG");
  fake.say("PONG");
  fake.tick();
  expect(fake.log).toEqual(["PING", "PING", "PING", "send t"]);
  expect(done).toBe(1);
  expect(fake.quiet()).toBe(true);
});

it("asks for a range until the viewer must have read the trace, or somebody looks elsewhere", () => {
  const fake = fakeChannel();
  const stop = showRange(fake.channel, { startUs: 5, endUs: 7 });
  fake.tick();
  stop();
  fake.tick();
  expect(fake.log).toEqual(["show 5 7", "show 5 7"]);
  showRange(fake.channel, { startUs: 1, endUs: 2 });
  for (let i = 0; i < 9; i += 1) fake.tick();
  expect(fake.log.length).toBe(2 + 5);
});

it("says a range as Perfetto documents it: seconds of the trace file", () => {
  const said: unknown[] = [];
  const target = { postMessage: (message: unknown, origin: string) => said.push([message, origin]) };
  const channel = windowChannel(target as unknown as Window, "http://here");
  channel.send(trace);
  channel.show({ startUs: 1.5e6, endUs: 2e6 });
  expect(said).toEqual([
    [{ perfetto: { ...trace, keepApiOpen: true } }, "http://here"],
    [{ perfetto: { timeStart: 1.5, timeEnd: 2, viewPercentage: 0.5 } }, "http://here"],
  ]);
});

it("sends nothing after giving up", () => {
  const fake = fakeChannel();
  handOver(fake.channel, trace, () => undefined)();
  fake.say("PONG");
  expect(fake.log).toEqual(["PING"]);
});

it("opens Perfetto in the page's colours, and leaves its other settings", () => {
  const kept = new Map([["perfettoSettings", '{"timestampFormat":"utc","theme":"light"}']]);
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, text: string) => void kept.set(key, text),
  };
  themePerfetto(() => storage, "dark");
  expect(JSON.parse(kept.get("perfettoSettings") ?? "")).toEqual({ timestampFormat: "utc", theme: "dark" });
  kept.set("perfettoSettings", "no JSON");
  themePerfetto(() => storage, "light");
  expect(kept.get("perfettoSettings")).toBe("no JSON");
  themePerfetto(() => {
    throw new DOMException("denied", "SecurityError");
  }, "light");
});
