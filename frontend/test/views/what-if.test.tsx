import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { httpSource, useSource } from "../../src/data/source";
import { decodeWhatIf } from "../../src/data/what-if";
import { selectCapture } from "../../src/state/actions";
import { isLedToWhatIf, whatIfChanges } from "../../src/state/atoms";
import { askWhatIf } from "../../src/state/predicting";
import { all, csvOf, find, open, plain } from "../page";

const between = (value: number) => ({ value, low: value / 2, high: value * 2 });
const answer = {
  sentence: "As captured: 8.00 ms per step; 2 DataLoader workers.",
  limit_texts: ["In every row, the rest of the step limits."],
  basis_text: "Nothing was run.",
  predictions: [
    {
      name: "workers=4 *",
      step_us: between(4000),
      saved_share: { value: 0.5, low: 0, high: 0.75 },
      samples_per_s: between(800),
      data_wait_share: between(0.1),
      limited_by: "step",
      memory_bytes: 4e6,
      notes: ["*: no CPU was free."],
    },
  ],
};

afterEach(() => {
  vi.unstubAllGlobals();
  useSource(httpSource);
});

/** What the route was asked. */
function served(status: number, body: unknown): string[] {
  const asked: string[] = [];
  const respond = (url: string): Promise<Response> => {
    asked.push(url);
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  };
  vi.stubGlobal("fetch", respond);
  return asked;
}

function type(field: HTMLInputElement, text: string): void {
  act(() => {
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

async function settle(): Promise<void> {
  await act(async () => {
    for (let turn = 0; turn < 8; turn += 1) await Promise.resolve();
    await new Promise((done) => setTimeout(done, 0));
  });
}

it("asks for nothing by itself", async () => {
  const asked = served(200, answer);
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  expect(find("what-if-form")).toBeTruthy();
  expect(asked.filter((url) => url.includes("what_if"))).toEqual([]);
  expect(all("what-if-table")).toEqual([]);
});

it("says that it is of all steps where some are chosen", () => {
  const selection = { first: 2, last: 3, recorded_first: 1, recorded_last: 8 };
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  expect(all("what-if-whole")).toEqual([]);
  open({ mode: "train", loader: { wait_us: 1 }, selection }, "overview");
  expect(find("what-if-whole").textContent).toContain("Predictions are of all steps of the capture");
});

it("says right before the numbers that they are of all steps", async () => {
  served(200, answer);
  whatIfChanges.value = ["workers=4"];
  const selection = { first: 2, last: 3, recorded_first: 1, recorded_last: 8 };
  open({ mode: "train", loader: { wait_us: 1 }, selection }, "overview");
  await settle();
  expect(find("what-if-now").previousElementSibling).toBe(find("what-if-whole"));
});

it("says of a plain capture why nothing is predicted, and what to do", () => {
  open({ mode: "unannotated", loader: { wait_us: 1 } }, "overview");
  expect(find("what-if-unavailable").textContent).toContain("annotate.loader");
});

it("is offered for a plain capture whose own marks are stages", () => {
  open({ mode: "unannotated", loader: { wait_us: 1 }, stages: [{ kind: "user", label: "load" }] }, "overview");
  expect(all("what-if-unavailable")).toEqual([]);
  expect(find("what-if")).toBeTruthy();
});

it("says that nothing is chosen only where nothing is", () => {
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  expect(find("what-if-form").textContent).toContain("Nothing chosen");
  const field = find("what-if-DataLoader workers");
  if (!(field instanceof HTMLInputElement)) throw new Error("no field");
  type(field, "3");
  expect(find("what-if-form").textContent).not.toContain("Nothing chosen");
});

it("shows the predictions that a link names", async () => {
  const asked = served(200, answer);
  whatIfChanges.value = ["workers=4"];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  expect(asked.some((url) => url.includes("what_if") && url.endsWith("&workers=4"))).toBe(true);
  const text = plain(find("what-if-table").textContent);
  for (const part of ["workers=4 *", "Step, ms", "4.00", "2.00 to 8.00", "50.0%", "800", "10.0%", "4.00"])
    expect(text).toContain(part);
  expect(find("what-if-now").textContent).toBe(answer.sentence);
  const notes = all("what-if-note").map((note) => note.textContent);
  expect(notes).toEqual([...answer.limit_texts, answer.basis_text, "*: no CPU was free."]);
});

it("says what makes the capture doubtful, where there is something", async () => {
  const doubts = [{ code: "evaluation", sentence: "This window lies in an evaluation." }];
  whatIfChanges.value = ["workers=4"];
  served(200, { ...answer, doubts });
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  expect(find("what-if-doubt").textContent).toBe("Doubtful: This window lies in an evaluation.");
});

it("gives a bound, and no prediction, where no CPU is free", async () => {
  const crowded = { name: "workers=4 *", at_least_us: 4000, memory_bytes: 4e6, notes: ["*: no CPU was free."] };
  served(200, { ...answer, predictions: [crowded] });
  whatIfChanges.value = ["workers=4"];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  const cells = [...find("what-if-table").querySelectorAll("tbody td")].map((cell) => plain(cell.textContent));
  expect(cells).toEqual(["–", "at least 4.00", "–", "–", "–", "4,000"]);
});

it("shows a saving that is next to nothing as none", async () => {
  const saved = { value: -0.0001, low: -0.2, high: 0.2 };
  served(200, { ...answer, predictions: [{ ...answer.predictions[0], saved_share: saved }] });
  whatIfChanges.value = ["workers=4"];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  const cells = [...find("what-if-table").querySelectorAll("tbody td")].map((cell) => plain(cell.textContent));
  expect(cells[2]).toBe("0%");
});

it("calls a setting that saves nothing slower, and exports a number", async () => {
  const slower = { ...answer.predictions[0], name: "workers=1", saved_share: between(-0.576) };
  served(200, { ...answer, predictions: [answer.predictions[0], slower] });
  whatIfChanges.value = ["workers=4", "workers=1"];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  const cells = [...find("what-if-table").querySelectorAll("tbody tr:last-child td")];
  expect(plain(cells[2]?.textContent)).toBe("slower by 57.6%");
  const [head, ...lines] = await csvOf("What if");
  const column = head?.split(",").indexOf("Saves (%)") ?? -1;
  expect(lines.map((line) => line.split(",")[column])).toEqual(["50", "-57.6"]);
});

it("takes no change that is typed wrong, and keeps what was predicted", async () => {
  served(200, answer);
  whatIfChanges.value = ["workers=4"];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  const field = find("what-if-DataLoader workers") as HTMLInputElement;
  expect(field.placeholder).toContain("0..8");
  type(field, "abc");
  expect(find("what-if-form").querySelector<HTMLButtonElement>("button[type=submit]")?.disabled).toBe(true);
  expect(all("what-if-table")).toHaveLength(1);
});

const lines = (): string[] =>
  [...find("what-if-table").querySelectorAll("tbody th")].map((cell) => plain(cell.textContent));
const asked = (): string[] => [...find("what-if-asked").querySelectorAll("li")].map((item) => plain(item.textContent));
const predict = (): void => find("what-if-form").querySelector<HTMLButtonElement>("button[type=submit]")?.click();

it("keeps predictions beside one another, the newest first, until they are removed", async () => {
  vi.stubGlobal("fetch", (url: string) => {
    const query = new URL(url).searchParams;
    const made = ["0", "4"].map((workers) => ({ ...answer.predictions[0], name: `workers=${workers}` }));
    const [first] = query.has("stage") ? [{ ...made[0], name: "transform::Blur=0.5x" }] : made.slice(1);
    const predictions = query.get("workers") === "0..4" ? made : [first];
    return Promise.resolve(new Response(JSON.stringify({ ...answer, predictions }), { status: 200 }));
  });
  whatIfChanges.value = ["workers=4"];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  act(() => askWhatIf("stage=transform%3A%3ABlur%3D0.5x"));
  await settle();
  expect(lines()).toEqual(["transform::Blur=0.5x", "workers=4"]);
  expect(asked()).toEqual(["transform::Blur=0.5x Remove", "workers=4 Remove"]);
  act(() => askWhatIf("workers=0..4"));
  await settle();
  expect(lines(), "workers=4 once").toEqual(["workers=0", "workers=4", "transform::Blur=0.5x"]);
  expect(all("what-if-note").map((note) => note.textContent)).toContain(`workers=0..4: ${answer.limit_texts[0]}`);
  type(find("what-if-DataLoader workers") as HTMLInputElement, "7");
  act(() => find("what-if-asked").querySelector("button")?.click());
  expect(lines()).toEqual(["transform::Blur=0.5x", "workers=4"]);
  expect((find("what-if-DataLoader workers") as HTMLInputElement).value, "what is typed stays").toBe("7");
});

it("asks once more for what failed when Predict is pressed again, and for nothing twice", async () => {
  const urls = served(422, { error: "no" });
  const asks = (): number => urls.filter((url) => url.includes("what_if")).length;
  whatIfChanges.value = ["workers=4"];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  expect(asks()).toBe(1);
  act(() => predict());
  await settle();
  expect(asks()).toBe(2);
});

it("shows the server's own line where nothing can be predicted", async () => {
  served(404, { error: "no stage was recorded" });
  whatIfChanges.value = [""];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  await settle();
  expect(find("what-if-error").textContent).toBe("no stage was recorded");
});

it("has the predictions that an HTML report carries, and the command for others", async () => {
  useSource({
    ...httpSource,
    live: false,
    whatIf: () => Promise.resolve({ kind: "ready", value: decodeWhatIf(answer) }),
  });
  open({ mode: "train", loader: { wait_us: 1 }, file: "/me/a.json" }, "overview");
  await settle();
  expect(plain(find("what-if-table").textContent)).toContain("workers=4");
  expect(find("what-if-command").textContent).toContain("tb-dataplugin whatif /me/a.json");
  expect(all("what-if-form")).toEqual([]);
});

it("says in a report without predictions of this capture that they need the trace, and promises none", async () => {
  useSource({
    ...httpSource,
    live: false,
    whatIf: () => Promise.resolve({ kind: "failed", message: "", unreachable: false }),
  });
  open({ mode: "train", loader: { wait_us: 1 }, file: "/me/a.json" }, "overview");
  await settle();
  expect(plain(find("what-if").textContent)).toContain("is predicted from the trace");
  expect(find("what-if").textContent).not.toContain("90% interval");
});

it("asks for nothing of another capture that nobody asked for there", () => {
  whatIfChanges.value = [""];
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  act(() => selectCapture("exp1/other"));
  expect(whatIfChanges.value).toEqual([]);
});

it("is not there without a training run or a loader", () => {
  open({ mode: "replay", loader: { wait_us: 1 } }, "overview");
  expect(all("what-if")).toEqual([]);
  open({ mode: "train" }, "overview");
  expect(all("what-if")).toEqual([]);
});

it("is scrolled to where a link led to its predictions, once", () => {
  const scrolled = vi.fn();
  vi.stubGlobal("fetch", () => new Promise(() => undefined));
  const before = Element.prototype.scrollIntoView;
  Element.prototype.scrollIntoView = scrolled;
  isLedToWhatIf.value = true;
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  Element.prototype.scrollIntoView = before;
  expect(scrolled.mock.contexts.filter((element) => element === find("what-if"))).toHaveLength(1);
  expect(isLedToWhatIf.value).toBe(false);
});

it("keeps the focus where it was when the answer comes, and follows the address", async () => {
  served(200, answer);
  open({ mode: "train", loader: { wait_us: 1 } }, "overview");
  const field = find("what-if-DataLoader workers");
  if (!(field instanceof HTMLInputElement)) throw new Error("no field");
  field.focus();
  await act(async () => {
    whatIfChanges.value = ["workers=4"];
    await settle();
  });
  expect(document.activeElement).toBe(field);
  expect(field.value).toBe("4");
});
