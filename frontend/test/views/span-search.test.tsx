import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { httpSource, useSource } from "../../src/data/source";
import { type SpanQuery, spansInSlice } from "../../src/data/spans";
import { currentPlace } from "../../src/state/actions";
import { lanesTurned, range } from "../../src/state/atoms";
import { fieldsOfPlace } from "../../src/state/place";
import { device, lane, timeline } from "../build";
import { find, open, plain, type, withTimeline } from "../page";

const lanes = [
  {
    ...lane([
      [10, 20],
      [60, 0.011],
    ]),
    id: "main",
    kind: "thread",
  },
];

afterEach(() => useSource(httpSource));

/** The page with a server that has what is drawn, and `more` spans that are not. */
function openWith(undrawn: number, drawn = lanes): { asked: SpanQuery[]; field: HTMLInputElement } {
  const asked: SpanQuery[] = [];
  useSource({
    ...httpSource,
    spans: (query) => {
      asked.push(query);
      const value = { ...spansInSlice(timeline(drawn), query), undrawn };
      return Promise.resolve({ kind: "ready", value });
    },
  });
  withTimeline(drawn);
  open({ devices: [device({})] }, "gaps");
  return { asked, field: find("span-search") as HTMLInputElement };
}

/** Once what was asked for is answered and drawn. */
async function answered(): Promise<void> {
  await act(() => new Promise<void>((resolve) => setTimeout(resolve)));
}

async function write(field: HTMLInputElement, text: string): Promise<void> {
  type(field, text);
  await answered();
}

async function enter(field: HTMLInputElement, shiftKey = false): Promise<void> {
  act(() => void field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey, bubbles: true })));
  await answered();
}

const said = (): string => plain(find("span-count").textContent);

it("frames the span that a search goes to, says which it is, and lets go once the words change", async () => {
  const { field, asked } = openWith(0);
  expect(find("timeline-panel").contains(field), "beside the heading, not below the lanes").toBe(true);
  await write(field, "VOLTA");
  expect(said()).toBe("2 spans");
  expect(find("timeline-canvas").dataset.searched, "others are faint").toBe("volta");
  expect(asked.at(-1)).toMatchObject({ words: ["volta"], scope: { device: 0 }, place: null });
  await enter(field);
  expect(find("timeline-canvas").dataset.marked).toBe("main");
  expect(said(), "the first on screen").toBe("1 of 2: volta");
  await enter(field);
  expect(said()).toBe("2 of 2: volta");
  expect((range.value?.endUs ?? 0) - (range.value?.startUs ?? 0), "a short call is zoomed to").toBeLessThan(1);
  await enter(field);
  expect(said(), "on from the start").toBe("1 of 2: volta");
  await enter(field, true);
  expect(said()).toBe("2 of 2: volta");
  await write(field, "vol");
  expect(find("timeline-canvas").dataset.marked).not.toBe("main");
});

it("says how many spans no lane has", async () => {
  const { field } = openWith(1100);
  await write(field, "volta");
  expect(said()).toBe("2 spans; 1,100 more are not drawn");
  expect(find("span-count").title).toContain("only the outermost");
});

it("says of a page that carries its data that it has what is drawn", async () => {
  const { field } = openWith(0);
  const joined = [{ ...lanes[0], merged: [1, 7] }] as typeof lanes;
  const value = (query: SpanQuery) => spansInSlice(timeline(joined), query);
  useSource({ ...httpSource, spans: (query) => Promise.resolve({ kind: "ready", value: value(query) }) });
  await write(field, "volta");
  expect(said()).toBe("2 spans wide enough to be drawn");
});

it("says why there is no answer, and asks for nothing without words", async () => {
  const { field } = openWith(0);
  const spans = vi.fn(() => Promise.resolve({ kind: "failed", message: "It is gone.", unreachable: false } as const));
  useSource({ ...httpSource, spans });
  await write(field, "  ");
  expect(spans).not.toHaveBeenCalled();
  await write(field, "x");
  expect(find("timeline-panel").textContent).toContain("It is gone.");
});

it("opens the folded lane that a search leads to, for the address, too", async () => {
  const boxes = lane([
    [10, 20],
    [12, 5, 1],
  ]);
  const many = Array.from({ length: 16 }, (_, at) => ({
    ...boxes,
    name: [0, at === 3 ? 1 : 0],
    id: `worker:0.${at}`,
    kind: "worker",
    worker: at,
  }));
  const { field } = openWith(0, many);
  await write(field, "kernel");
  expect(said()).toBe("1 span, some in folded lanes");
  expect(find("span-count").title).toContain("Next and Previous open the folded lane that they lead to.");
  await enter(field);
  expect([...lanesTurned.value]).toEqual(["worker:0.3"]);
  expect(fieldsOfPlace(currentPlace()).lanes).toBe("worker:0.3");
  expect(said()).toBe("1 of 1: kernel");
  await enter(field);
  expect([...lanesTurned.value], "it stays open").toEqual(["worker:0.3"]);
});
