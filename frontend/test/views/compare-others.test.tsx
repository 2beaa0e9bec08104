import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Comparison } from "../../src/contract/report";
import { Outcome } from "../../src/views/compare/compare";

const OTHER = {
  kind: "other_loader",
  name: "Pets",
  title: "the other DataLoader of Pets",
  before_us: 98_900,
  after_us: 38_700,
  change: -0.61,
  low: -0.7,
  high: -0.5,
  interval_text: "−70% to −50%",
  outcome: "less",
};
const TITLE = "Other DataLoaders: data wait per training step that iterates them";

let root: HTMLElement;

beforeEach(() => {
  root = document.createElement("div");
  document.body.append(root);
});

afterEach(() => {
  render(null, root);
  root.remove();
});

function draw(other_loaders: readonly object[], stages: readonly object[] = []): void {
  const comparison = Comparison.fromJSON({ outcome: "not_significant", unit: "sample", other_loaders, stages });
  act(() => render(<Outcome comparison={comparison} />, root));
}

const titles = (): (string | null)[] => [...root.querySelectorAll("h2")].map((title) => title.textContent);

it("has a row for each other DataLoader, apart from the parts of the time", () => {
  draw([OTHER]);
  const row = root.querySelector('[data-part="Pets"]');
  expect(titles()).toContain(TITLE);
  expect(row?.querySelector("th")?.textContent).toBe("other DataLoader of Pets");
  expect(row?.textContent).toContain("98.9");
  expect(row?.textContent).toContain("38.7");
});

it("has no table where no other DataLoader is iterated", () => {
  draw([]);
  expect(titles()).not.toContain(TITLE);
});

it("says why a stage that is called for these only is not compared", () => {
  const why = "no call in the batches that are compared";
  const text = `only for another DataLoader; ${why}`;
  const times = { before_us: 134, after_us: 78.6, outcome: "unknown", interval_text: text };
  draw([OTHER], [{ kind: "stage", name: "sample::Pets", title: "sample::Pets", ...times }]);
  const cell = root.querySelector('[data-testid="stage-change"] [data-testid="interval"]');
  expect(cell?.textContent).toBe("only for another DataLoader");
  expect(cell?.querySelector("button")?.title).toBe(why);
});
