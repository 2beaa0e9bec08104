import { render } from "preact";
import { act } from "preact/test-utils";
import { afterEach, expect, it, vi } from "vitest";
import { Prose } from "../../src/ui/prose";
import { StageWays, stageWay } from "../../src/ui/stage-ref";

const root = document.createElement("div");

afterEach(() => render(null, root));

function linked(text: string, names: readonly string[]): (string | null)[] {
  act(() =>
    render(
      <StageWays.Provider value={stageWay(names, () => undefined)}>
        <Prose text={text} />
      </StageWays.Provider>,
      root,
    ),
  );
  expect(root.textContent).toBe(text.replaceAll("`", ""));
  return [...root.querySelectorAll("button")].map((button) => button.textContent);
}

it("makes each name of a stage in a text a link, the longest that stands there", () => {
  const names = ["read::open", "read::open.cached", "sample::Photos", "user::two words"];
  expect(linked("most of it for sample::Photos (55.7%), read::open.", names)).toEqual(["sample::Photos", "read::open"]);
  expect(linked("read::open.cached, user::two words", names)).toEqual(["read::open.cached", "user::two words"]);
});

it("leaves other words, parts of longer names and code as they are", () => {
  const names = ["read::open", "sample::Photos", "a::(b+"];
  expect(linked("read::opener spread::open sample::Photos.__getitems__ `read::open` transfer", names)).toEqual([]);
  expect(linked("a::(b+ is a name as well", names)).toEqual(["a::(b+"]);
  expect(linked("read::open", [])).toEqual([]);
});

it("goes to the stage, and not where the row leads", () => {
  const [show, other] = [vi.fn(), vi.fn()];
  act(() =>
    render(
      <StageWays.Provider value={stageWay(["read::open"], show)}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: stands for a row */}
        <div onClick={other}>
          <Prose text="read::open" />
        </div>
      </StageWays.Provider>,
      root,
    ),
  );
  act(() => root.querySelector("button")?.click());
  expect(show.mock.calls).toEqual([["read::open"]]);
  expect(other).not.toHaveBeenCalled();
});
